// What `page.js` draws with.
export { View, parse } from "vega";
export { compile } from "vega-lite";
export { expressionInterpreter } from "vega-interpreter";
export { Handler } from "vega-tooltip";
