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
    .reranked = {.bias = -0.757, .s1 = 0.06793, .cosz = 0, .covp = 1.86229, .namemissp = -1.82694, .answer = 0.6, .unsure = 0.5},
    .dense = {.bias = -3.750452, .s1 = 0, .cosz = 0.695719, .covp = 1.855548, .namemissp = -1.283631, .answer = 0.5, .unsure = 0.43},
    .lexical = {.bias = -0.911442, .s1 = 0, .cosz = 0, .covp = 1.903506, .namemissp = -1.511514, .answer = 0.55, .unsure = 0.46},
};

}  // namespace polygraph::agent::extractive
