raise RuntimeError("the index was never built")
