export const value = 1;
export const wrong = ;
