// The weights of the extractive grader, as `polygraph calibrate grader` writes them. They weigh scores and coverage only
// and hold no word of a corpus, so one set serves any index.
#pragma once

namespace polygraph::agent::extractive {

/// One logistic model: z = bias + sum of weight times feature; p = 1 / (1 + e^-z). The features are those of
/// GraderFeatures. Answered from `answer` on, answered with a visible doubt from `unsure` on, refused below.
struct GateWeights {
  double bias, s1, cosz, covp, namemissp;
  double answer, unsure;
};

/// One model for each kind of evidence that a retrieval can give.
struct GraderWeights {
  GateWeights reranked;  ///< the reranker ran
  GateWeights dense;     ///< dense search ran, the reranker did not
  GateWeights lexical;   ///< neither ran
};

inline constexpr GraderWeights default_weights = {
    .reranked = {.bias = -0.607641, .s1 = 0.066612, .cosz = 0, .covp = 1.587824, .namemissp = -1.959049, .answer = 0.621, .unsure = 0.516},
    .dense = {.bias = -3.550009, .s1 = 0, .cosz = 0.648598, .covp = 1.989772, .namemissp = -1.785555, .answer = 0.642, .unsure = 0.438},
    .lexical = {.bias = -1.284266, .s1 = 0, .cosz = 0, .covp = 2.348391, .namemissp = -1.588395, .answer = 0.631, .unsure = 0.456},
};

}  // namespace polygraph::agent::extractive
