#pragma once
// Learning problems that measure the speed of POEM: bandit tuples whose action
// is a set of labels, read from files or generated, and written as NumPy's
// files.
#include <cstdint>
#include <string>

#include "Eigen/Core"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/counterfactual/crm.h"
#include "core/learners/multilabel/label_conversion.h"

namespace sortition {

struct PoemProblem {
  std::string name;
  LabelContexts contexts;
  LabelTuples tuples;
  CrmOptions crm;
};

// Reads the training part of seed 004, sec. 6. A logging policy fitted to 5 %
// of the file's contexts draws four times for each; three quarters of the draws
// are used.
absl::StatusOr<PoemProblem> ReadPoemProblem(const std::string& path);

// `values_per_row` normal values in each of `num_contexts` rows, at features
// whose frequency falls as 1 / rank, like that of words. Labels are drawn with
// probability ½ each, `replays` times for each row; losses are random.
struct GeneratedShape {
  uint32_t num_contexts = 0;
  uint32_t num_features = 0;
  uint32_t num_labels = 0;
  uint32_t values_per_row = 0;  // num_features: dense.
  uint32_t replays = 1;
};
PoemProblem GeneratePoemProblem(const std::string& name,
                                const GeneratedShape& shape);

// How both implementations train.
struct PoemSchedule {
  uint32_t epochs = 10;      // For POEM(S).
  uint32_t iterations = 50;  // For POEM(B).
  uint32_t repetitions = 5;  // The fastest one counts.
  uint32_t batch_size = 100;
  uint32_t history = 10;
  double step_size = 1;
  uint64_t seed = 1;
};

// Writes the input of bench/reference/poem_reference.py into an existing
// directory. The reference evaluates the objective at `parameters`.
absl::Status WritePoemProblem(const std::string& directory,
                              const PoemProblem& problem,
                              const PoemSchedule& schedule,
                              const Eigen::VectorXd& parameters);

}  // namespace sortition
