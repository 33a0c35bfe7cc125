// The one error of this library.

export { EngineError as PolygraphError } from "../engine/engine.ts";

/** What `PolygraphError.code` may be (wasm/error.hpp). */
export type ErrorCode =
  | "invalid_argument" | "invalid_text" | "invalid_json" | "unsupported_version" | "corrupt" | "truncated" | "mismatch" | "not_found" | "diverged"
  | "model_unavailable" | "provider_failed" | "quota_spent" | "io" | "internal";
