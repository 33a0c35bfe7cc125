// The weights of the extractive grader, as `polygraph calibrate grader` writes them. They weigh scores and coverage only
// and hold no word of a corpus, so one set serves any index.
#pragma once

namespace polygraph::agent::extractive {

/// One logistic model: z = bias + sum of weight times feature; p = 1 / (1 + e^-z). The features are those of
/// GraderFeatures. Answered from `answer` on, answered with a visible doubt from `unsure` on, refused below.
struct GateWeights {
  double bias, s1, cosz, covp, uncp, namemissp, nameabsent;
  double answer, unsure;
};

/// One model for each kind of evidence that a retrieval can give.
struct GraderWeights {
  GateWeights reranked;  ///< reranker and dense search ran
  GateWeights dense;     ///< dense search ran, the reranker did not
  GateWeights lexical;   ///< neither ran
};

inline constexpr GraderWeights default_weights = {
    .reranked = {.bias = -5.348, .s1 = 0.078, .cosz = 0.628, .covp = 3.528, .uncp = 1.300, .namemissp = -0.736, .nameabsent = -0.902,
                 .answer = 0.46, .unsure = 0.29},
    .dense = {.bias = -5.0, .s1 = 0.0, .cosz = 0.75, .covp = 3.6, .uncp = 1.0, .namemissp = -0.8, .nameabsent = -1.0,
              .answer = 0.46, .unsure = 0.29},
    .lexical = {.bias = -3.2, .s1 = 0.0, .cosz = 0.0, .covp = 5.2, .uncp = 0.0, .namemissp = -1.0, .nameabsent = -1.2,
                .answer = 0.46, .unsure = 0.29},
};

}  // namespace polygraph::agent::extractive
