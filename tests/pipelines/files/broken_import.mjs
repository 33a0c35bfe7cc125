// no such module
import "./nowhere.mjs";
