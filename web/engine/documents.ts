// The documents of evaluation as types: what the module of evaluation.ts and the command line write (assets/schemas says the same to
// machines). Rates and shares are 0 to 1, times ms. Further fields of a stored document are kept and not listed here.

export const categories = [
  "PASS", "WRONG_CHUNK_RETRIEVED", "WRONG_CHUNK_RANK", "INSUFFICIENT_CONTEXT", "RETRIEVED_BUT_NOT_GROUNDED", "ANSWER_INCORRECT", "LATENCY_OUTLIER", "UNKNOWN",
] as const;
export type Category = (typeof categories)[number];
export type Severity = "info" | "warning" | "major";
export type CategoryCounts = Record<Category, number>;
export type DatasetForm = "items" | "samples" | "ragdiag" | "csv" | "tsv" | "trec" | "beir";

/** One finding about a golden set; null where there is no such thing. */
export interface Problem {
  item: string | null;
  line: number | null;
  field: string | null;
  message: string;
}

export interface Validation {
  valid: boolean;
  name: string | null;
  version: string | null;
  counts: { items: number; answerable: number; vague: number; unanswerable: number; verified: number; rejected: number; query_types: Record<string, number> };
  errors: Problem[];
  warnings: Problem[];
}

export interface GoldenItem {
  id: string;
  type: "answerable" | "vague" | "unanswerable";
  question: string;
  reference_answer?: string;
  relevant_chunk_ids?: string[];
  relevant_pages?: string[];
  should_refuse?: boolean;
  [field: string]: unknown;
}

export interface Dataset {
  name: string;
  version: string;
  form: "items" | "samples" | "table" | "trec" | "beir";
  digest: string;
  items: GoldenItem[];
}

export interface Conversion {
  form: DatasetForm;
  items: number;
  written: number;
  /** One without a name, or those of a collection's folder. */
  files: { name: string; text: string }[];
  left_out: { item: string; field: string | null; message: string }[];
}

/** Measures by name: `recall@5`, `mrr`, `map` … */
export type Measures = Record<string, number>;

export interface TrecEvaluation {
  k: number[];
  mean: Measures;
  queries: Record<string, Measures>;
  counts: { queries: number; not_in_run: number; no_relevant: number; only_in_run: number };
  only_in_run: string[];
}

export interface RetrievedChunk {
  id: string;
  text: string;
  score: number | null;
  metadata: Record<string, unknown> | null;
}

export interface QueryDiagnosis {
  category: Category;
  severity: Severity;
  confidence: number;
  reason: string;
  action: string;
  evidence: string[];
  secondary?: Category[];
  judge?: "judged" | "failed" | "none";
}

/** What one pipeline made of one query. */
export interface QueryResult {
  query_id: string;
  query: string;
  query_type: string | null;
  expected_answer: string | null;
  generated_answer: string | null;
  error: string | null;
  judge_error: string | null;
  /** `completed`; anything else is a failure. */
  status: string;
  expected_chunk_ids: string[];
  retrieved_chunks: RetrievedChunk[];
  latency: Record<string, number>;
  metrics: Record<string, number | boolean | string | null>;
  diagnosis: QueryDiagnosis;
  refused?: boolean | null;
  refusal_outcome?: "correct" | "false" | "missed" | null;
  agent_diagnosis?: string | null;
  [field: string]: unknown;
}

export interface TypeMetrics {
  query_type: string;
  total_queries: number;
  completed_queries: number;
  failed_queries: number;
  mean_precision_at_k: number;
  mean_recall_at_k: number;
  mrr: number;
  answer_correctness_rate: number | null;
  groundedness_rate: number | null;
  diagnosis_counts: CategoryCounts;
  scored_queries: number;
}

export interface TopFailure {
  query_id: string;
  query: string;
  category: Category;
  severity: Severity;
  confidence: number;
  reason: string;
  action: string;
  evidence: string[];
}

export interface HealthProfile {
  /** 0 to 100. */
  score: number;
  grade: string;
  status: string;
  strengths: string[];
  weaknesses: string[];
  recommendations: string[];
  strength_codes: string[];
  weakness_codes: string[];
  recommendation_codes: string[];
  /** False where neither retrieval nor a judge gave a value. */
  defined: boolean;
  missing: string[];
}

export interface Confidence {
  /** 0 to 100. */
  score: number;
  level: string;
  reasons: string[];
  reason_codes: string[];
}

/** A metric of a run: null is undefined; `n` is what the value is over, `low` and `high` its 95 % interval. */
export interface MetricValue {
  value: number | null;
  n: number;
  low: number | null;
  high: number | null;
  scored: number;
  unscorable: number;
  judge_error: number;
  failed: number;
}

export interface EvaluationReport {
  dataset_name: string;
  dataset_version: string;
  pipeline_name: string | null;
  total_queries: number;
  completed_queries: number;
  failed_queries: number;
  judged_queries: number;
  judge_failures: number;
  retrieval: { mean_precision_at_k: number; mean_recall_at_k: number; mrr: number; k: number; scored_queries: number };
  semantic: {
    answer_correctness_rate: number | null;
    groundedness_rate: number | null;
    mean_judge_confidence: number | null;
    correctness_judged: number;
    groundedness_judged: number;
  };
  latency: { count: number; mean_ms: number; p50_ms: number; p95_ms: number; p99_ms: number; min_ms: number; max_ms: number };
  diagnosis_counts: CategoryCounts;
  diagnosis_by_query_type: Record<string, CategoryCounts>;
  metrics_by_query_type: Record<string, TypeMetrics>;
  top_failures: TopFailure[];
  overall_insights: string[];
  insight_codes: string[];
  health_profile: HealthProfile;
  confidence: Confidence;
  results?: QueryResult[];
  /** Of a run: every metric under its name (`recall@4`, `false_refusal_rate` …). */
  metrics?: Record<string, MetricValue>;
  [field: string]: unknown;
}

export interface Diagnosis {
  total_queries: number;
  passed_queries: number;
  failed_queries: number;
  failure_modes: { category: Category; count: number; action: string }[];
  important_queries: TopFailure[];
  health_profile: HealthProfile;
  confidence: Confidence;
  report: EvaluationReport;
  [field: string]: unknown;
}

export type Side = "A" | "B" | "TIE";

export interface QueryOutcome {
  query_id: string;
  diagnosis_a: Category;
  diagnosis_b: Category;
  recall_a: number;
  recall_b: number;
  grounded_a: boolean | null;
  grounded_b: boolean | null;
  answer_correct_a: boolean | null;
  answer_correct_b: boolean | null;
  outcome: "improved" | "regressed" | "unchanged";
}

export interface RegressionAnalysis {
  overall_regression: boolean;
  summary: string;
  verdict: "quality" | "queries" | "latency" | "balanced" | "none" | "improved_slower" | "improved_secondary" | "improved" | "completion";
  metric_regressions: { metric_name: string; baseline_value: number; current_value: number; delta: number; threshold: number; unit: string }[];
  regressed_queries: {
    query_id: string;
    baseline_diagnosis: Category;
    current_diagnosis: Category;
    transition: string;
    recall_a: number;
    recall_b: number;
    grounded_a: boolean | null;
    grounded_b: boolean | null;
    answer_correct_a: boolean | null;
    answer_correct_b: boolean | null;
    reason: string;
    reason_code: "severity" | "recall" | "groundedness" | "correctness" | "category";
  }[];
  regressed_query_count: number;
  diagnosis_regressions: { from_category: Category; to_category: Category; transition: string; count: number; query_ids: string[] }[];
  increased_failures: Partial<CategoryCounts>;
  important_regressions: string[];
}

/** Deltas are B less A. */
export interface ComparisonReport {
  dataset_name: string;
  dataset_version: string;
  pipeline_a_name: string;
  pipeline_b_name: string;
  /** A pipeline's name or `TIE`; `winner_side` says which side. */
  quality_winner: string;
  latency_winner: string;
  overall_winner: string;
  winner: string;
  winner_side: { quality: Side; latency: Side; overall: Side };
  trade_off: "none" | "quality_for_latency" | "better_and_faster" | "better_same_speed" | "faster_for_quality" | "same_quality_faster" | null;
  summary: string;
  metric_deltas: {
    precision_at_k: number;
    recall_at_k: number;
    mrr: number;
    answer_correctness: number | null;
    groundedness: number | null;
    mean_retrieval_ms: number;
    p95_retrieval_ms: number;
  };
  diagnosis_deltas: CategoryCounts;
  query_type_deltas: Record<string, {
    query_type: string;
    recall_at_k: number;
    mrr: number;
    answer_correctness: number | null;
    groundedness: number | null;
    total_failure_delta: number;
    failure_deltas: CategoryCounts;
  }>;
  /** Paired tests, item by item; `p_holm` is corrected over all of them. */
  tests: Record<string, { delta: number; low: number | null; high: number | null; p: number; p_holm: number; n: number }>;
  queries_improved: number;
  queries_regressed: number;
  queries_unchanged: number;
  query_outcomes: QueryOutcome[];
  regression_analysis: RegressionAnalysis;
  only_in_a: string[];
  only_in_b: string[];
  warnings: string[];
  pipeline_a_report: EvaluationReport;
  pipeline_b_report: EvaluationReport;
}
