// The built modules, of which build.mjs knows the folder.
declare module "polygraph-modules/polygraph-engine.mjs" {
  const factory: import("../engine/boundary.ts").EngineFactory;
  export default factory;
}
declare module "polygraph-modules/polygraph-evaluation.mjs" {
  const factory: import("../engine/evaluation.ts").EvaluationFactory;
  export default factory;
}
