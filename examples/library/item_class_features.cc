// Features of an item and a class together (seed 001, sec. 17.2): to classify
// is then to select among the classes, with any learner of rankings.
//
//   example_item_class_features tf_idf|multi_vector TRAINING [DATA]
//
// Files have a line "class qid:name feature:value ..." per item, classes from
// 0. Writes DATA (or TRAINING) to standard output as LETOR lines: a query per
// item, a candidate per class, relevance 1 for the item's own class.
//
//   multi_vector  the item's features in the block of the class (example 17.2)
//   tf_idf        features are counts of words; each is times log(1 / share of
//                 the training documents that have the word and are of other
//                 classes) (example 17.3): as many features as words, however
//                 many classes there are
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/joint_features.h"
#include "core/data/labelled_queries.h"
#include "io/datasets/letor.h"

namespace sortition {
namespace {

// Items as dense rows of d features, and their classes.
struct Items {
  uint32_t num_features = 0;
  std::vector<float> features;
  std::vector<uint32_t> classes;
};

absl::StatusOr<Items> ReadItems(const std::string& path) {
  ASSIGN_OR_RETURN(const LabelledQueries data, ReadLetor(path));
  Items items{data.num_features, {}, {}};
  for (const LabelledQuery& query : data.queries) {
    items.features.insert(items.features.end(), query.features.begin(),
                          query.features.end());
    items.classes.insert(items.classes.end(), query.relevances.begin(),
                         query.relevances.end());
  }
  return items;
}

void Print(const JointFeatures& joint, size_t item, uint32_t own_class) {
  for (size_t j = 0; j + 1 < joint.row_offsets.size(); ++j) {
    std::printf("%d qid:%zu", j == own_class ? 1 : 0, item);
    for (uint32_t e = joint.row_offsets[j]; e < joint.row_offsets[j + 1]; ++e) {
      std::printf(" %u:%.9g", joint.columns[e] + 1,
                  static_cast<double>(joint.values[e]));
    }
    // Says how many features there are.
    const bool has_last =
        joint.row_offsets[j] < joint.row_offsets[j + 1] &&
        joint.columns[joint.row_offsets[j + 1] - 1] + 1 == joint.num_features;
    if (item == 0 && j == 0 && !has_last) {
      std::printf(" %u:0", joint.num_features);
    }
    std::printf("\n");
  }
}

absl::Status Run(const std::string& map, const std::string& training,
                 const std::string& path) {
  if (map != "tf_idf" && map != "multi_vector") {
    return absl::InvalidArgumentError(
        absl::StrCat("the map is '", map, "', must be tf_idf or multi_vector"));
  }
  ASSIGN_OR_RETURN(const Items seen, ReadItems(training));
  ASSIGN_OR_RETURN(const Items items, ReadItems(path));
  const uint32_t num_classes =
      1 + *std::max_element(seen.classes.begin(), seen.classes.end());
  ASSIGN_OR_RETURN(const Candidates documents,
                   Candidates::Dense(seen.features, seen.num_features));
  std::optional<TfIdf> weights;
  if (map == "tf_idf") {
    ASSIGN_OR_RETURN(weights, TfIdf::Fit(documents, seen.classes, num_classes));
  }
  // Features that training has not seen mean nothing.
  std::vector<float> x(seen.num_features);
  for (size_t i = 0; i < items.classes.size(); ++i) {
    if (items.classes[i] >= num_classes) {
      return absl::InvalidArgumentError(absl::StrCat(
          "item ", i, ": class is ", items.classes[i], ", must be in [0, ",
          num_classes - 1, "], those of TRAINING"));
    }
    const size_t shared = std::min(items.num_features, seen.num_features);
    const auto begin = items.features.begin() +
                       static_cast<std::ptrdiff_t>(i * items.num_features);
    std::fill(x.begin(), x.end(), 0.0f);
    std::copy_n(begin, shared, x.begin());
    ASSIGN_OR_RETURN(const JointFeatures joint,
                     weights.has_value() ? weights->Map(x)
                                         : MultiVectorFeatures(x, num_classes));
    Print(joint, i, items.classes[i]);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(
        stderr,
        "usage: example_item_class_features tf_idf|multi_vector TRAINING "
        "[DATA]\n");
    return 2;
  }
  const absl::Status status = sortition::Run(argv[1], argv[2], argv[argc - 1]);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}
