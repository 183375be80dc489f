// A model of trees by XGBoost or LightGBM: refused with a reason, or it scores.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "tests/core/scoring/tree_reference.h"
#include "tests/fuzz/fuzz_target.h"

namespace sortition {
namespace {

// Scores a few rows, which must be what the slow evaluation says.
void CheckScores(const model::v1::TreeEnsemble& model) {
  constexpr uint32_t kRows = 18;
  constexpr uint32_t kMostFeatures = 4096;
  const auto ensemble = TreeEnsemble::Create(model);
  CHECK(ensemble.ok());
  if (model.num_features() > kMostFeatures) return;
  const float values[] = {
      0,     1,     -1,
      0.5f,  33,    1e-36f,
      1e30f, -0.5f, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> rows(kRows * model.num_features());
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = values[(i * 7 + i / model.num_features()) % std::size(values)];
  }
  std::vector<uint32_t> documents(kRows);
  for (uint32_t i = 0; i < kRows; ++i) documents[i] = i;
  std::vector<double> scores(kRows);
  TreeScratch scratch;
  ensemble->Scores(Candidates::DenseUnchecked(rows, model.num_features()),
                   documents, &scratch, scores);
  for (size_t i = 0; i < kRows; ++i) {
    CHECK(std::isfinite(scores[i]));
    CHECK(scores[i] ==
          ReferenceScore(model, {rows.data() + i * model.num_features(),
                                 model.num_features()}));
  }
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(tree_models) {
  const auto model = sortition::ParseTreeModel(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (model.ok()) {
    sortition::CheckScores(*model);
  } else {
    CHECK(model.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(!model.status().message().empty());
  }
}
