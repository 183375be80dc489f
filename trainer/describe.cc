#include "trainer/describe.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/features/describe_features.h"
#include "core/scoring/model_features.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/store_listing.h"
#include "process/text_table.h"

namespace sortition {
namespace {

using model::v1::Model;

// Labels of a policy that has weights for each; 0: it has one weight a feature.
uint32_t NumLabels(const model::v1::Policy& policy) {
  if (policy.has_label_chain()) return policy.label_chain().num_labels();
  return policy.independent_labels().num_labels();
}

std::string PolicyName(const model::v1::Policy& policy) {
  const auto* const kinds = policy.GetDescriptor()->FindOneofByName("kind");
  const auto* const kind =
      policy.GetReflection()->GetOneofFieldDescriptor(policy, kinds);
  return kind == nullptr ? "none" : kind->name();
}

std::string PolicyLine(const Model& model) {
  const model::v1::Policy& policy = model.policy();
  std::string text =
      absl::StrFormat("%s version %d: %s, inverse temperature %g, %g uniform",
                      model.name(), model.version(), PolicyName(policy),
                      policy.inverse_temperature(), policy.uniform_mixture());
  if (policy.softmax_selection().has_abstain_score()) {
    absl::StrAppendFormat(&text, ", abstains at score %g",
                          policy.softmax_selection().abstain_score());
  }
  return absl::StrFormat("%s\nlearned by %s from %d examples\n", text,
                         model.provenance().learner().empty()
                             ? "an unknown learner"
                             : model.provenance().learner(),
                         model.provenance().num_tuples());
}

std::string TreesLine(const model::v1::TreeEnsemble& trees) {
  int leaves = 0;
  for (const model::v1::Tree& tree : trees.trees()) {
    leaves += tree.leaf_values_size();
  }
  std::string text = absl::StrFormat(
      "trees: %d with %d leaves, objective %s\n"
      "  a feature that a sparse row does not have is %s\n",
      trees.trees_size(), leaves,
      trees.objective().empty() ? "unknown" : trees.objective(),
      trees.absent_feature() == model::v1::TreeEnsemble::MISSING
          ? "a missing value"
          : "0");
  if (trees.skipped_columns() > 0) {
    absl::StrAppendFormat(
        &text,
        "  imported without column 0 of the model file, which is empty: its "
        "library read a text file whose features start at 1\n");
  }
  return text;
}

// Returns the name of what a weight multiplies.
std::string NameOf(const Model& model, const ModelFeatures& features,
                   uint32_t index) {
  const uint32_t labels = NumLabels(model.policy());
  if (labels > 0) {
    return absl::StrCat("f", index / labels, ", label ", index % labels);
  }
  if (index < features.num_inputs()) {
    return features.transform() == nullptr
               ? absl::StrCat("f", index)
               : features.transform()->FeatureName(index);
  }
  uint32_t unit = index - features.num_inputs();
  if (model.has_trees()) {
    if (unit == 0) return "trees";
    --unit;
  }
  return absl::StrCat("unit ", unit);
}

std::string WeightTable(const Model& model, const ModelFeatures& features,
                        size_t most_weights) {
  std::vector<uint32_t> order(static_cast<size_t>(model.weights_size()));
  std::iota(order.begin(), order.end(), 0u);
  const auto weight = [&](uint32_t index) {
    return model.weights(static_cast<int>(index));
  };
  const size_t shown = std::min(most_weights, order.size());
  std::partial_sort(order.begin(),
                    order.begin() + static_cast<ptrdiff_t>(shown), order.end(),
                    [&](uint32_t a, uint32_t b) {
                      const double of_a = std::abs(weight(a));
                      const double of_b = std::abs(weight(b));
                      return of_a != of_b ? of_a > of_b : a < b;
                    });
  std::vector<std::vector<std::string>> rows = {{"weight", "of"}};
  for (size_t i = 0; i < shown; ++i) {
    rows.push_back({absl::StrFormat("%.6g", weight(order[i])),
                    NameOf(model, features, order[i])});
  }
  return absl::StrFormat("%d of %d weights, heaviest first\n%s", shown,
                         order.size(), FormatTable(rows));
}

}  // namespace

absl::StatusOr<std::string> DescribeModel(const Model& model,
                                          size_t most_weights) {
  ASSIGN_OR_RETURN(const ModelFeatures features, ModelFeatures::Create(model));
  std::string text = PolicyLine(model);
  if (features.transform() != nullptr) {
    text += DescribeFeatures(model.features(), *features.transform());
  } else {
    absl::StrAppendFormat(&text, "%d features, as callers send them\n",
                          model.num_features());
  }
  if (model.has_trees()) text += TreesLine(model.trees());
  if (model.has_hidden_layer()) {
    absl::StrAppendFormat(&text, "hidden units: %d\n",
                          model.hidden_layer().num_units());
  }
  return text + WeightTable(model, features, most_weights);
}

absl::StatusOr<std::string> DescribeVersion(
    const config::v1::DescribeOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  const ModelStore store(options.model_store());
  uint64_t version = options.version();
  if (version == 0) {
    ASSIGN_OR_RETURN(version, NewestVersion(options.model(), store));
  }
  if (version == 0) {
    return NoVersionError(options.model_store(), options.model());
  }
  ASSIGN_OR_RETURN(const StoredModel stored,
                   store.Load(options.model(), version));
  ASSIGN_OR_RETURN(const std::string text,
                   DescribeModel(stored.model, options.weights()));
  ASSIGN_OR_RETURN(const VersionListing listing,
                   ListModelFolder(absl::StrCat(options.model_store(), "/",
                                                options.model())));
  return text + NotVersionsText(options.model(), listing.ignored);
}

}  // namespace sortition
