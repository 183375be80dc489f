// A model of trees by XGBoost or LightGBM: refused with a reason, or it scores.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/check.h"
#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_columns.h"
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

// Chooses the first column for data of several widths. A model without column 0
// scores as before.
void CheckColumns(const TreeModelFile& file) {
  const uint32_t columns = file.ensemble.num_features();
  for (const uint32_t d : {1u, columns - 1, columns, columns + 1}) {
    for (const bool is_lower_bound : {false, true}) {
      for (const std::optional<uint32_t> given :
           {std::optional<uint32_t>(), std::optional<uint32_t>(0),
            std::optional<uint32_t>(1)}) {
        const auto choice = ChooseFirstColumn(file, {d, is_lower_bound}, given);
        if (!choice.ok()) {
          CHECK(choice.status().code() == absl::StatusCode::kInvalidArgument);
          continue;
        }
        CHECK(!given.has_value() || choice->first_column == *given);
        if (choice->first_column == 0) continue;
        model::v1::TreeEnsemble skipped = file.ensemble;
        SkipFirstColumn(&skipped);
        CheckScores(skipped);
      }
    }
  }
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(tree_models) {
  const auto model = sortition::ParseTreeModelFile(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (model.ok()) {
    sortition::CheckScores(model->ensemble);
    sortition::CheckColumns(*model);
  } else {
    CHECK(model.status().code() == absl::StatusCode::kInvalidArgument);
    CHECK(!model.status().message().empty());
  }
}
