const value = 1;
value.method();
