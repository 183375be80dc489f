#include "io/scorers/lightgbm_model.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"
#include "io/scorers/lightgbm_tree.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::TreeEnsemble;

// Of the header, or of a tree; LightGBM writes about 20.
constexpr size_t kMostLines = 1000;

// Reads a part of the file at a time: the header, then trees.
class PartReader {
 public:
  explicit PartReader(absl::string_view text) : text_(text) {}

  // Reads the header if `name` is empty.
  absl::StatusOr<LightGbmLines> ReadPart(const std::string& name) {
    LightGbmLines part{name, place_, {}};
    while (place_ < text_.size()) {
      const size_t begin = place_;
      const absl::string_view line = PeekLine();
      if (absl::StartsWith(line, "Tree=") || line == "end of trees") break;
      SkipLine();
      const size_t equals = line.find('=');
      const absl::string_view key = line.substr(0, equals);
      if (key.empty()) continue;
      if (part.values.size() == kMostLines) {
        return absl::InvalidArgumentError(absl::StrCat(
            "byte ", begin, ": ", name.empty() ? "the header" : name,
            " has more than ", kMostLines, " lines"));
      }
      part.values[key] = {equals == absl::string_view::npos
                              ? absl::string_view()
                              : line.substr(equals + 1),
                          begin};
    }
    return part;
  }

  // Whether a tree follows; takes its first line. InvalidArgument where it has
  // another number, and where the file ends.
  absl::StatusOr<bool> NextTree(int number) {
    const absl::string_view line = PeekLine();
    if (line == "end of trees") return false;
    const std::string expected = absl::StrCat("Tree=", number);
    if (line != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          "byte ", place_, ": the line is \"", Shown(line), "\", must be \"",
          expected, "\" or \"end of trees\": the file is not whole"));
    }
    SkipLine();
    return true;
  }

 private:
  absl::string_view PeekLine() const {
    const absl::string_view line =
        text_.substr(place_, text_.find('\n', place_) - place_);
    return absl::StripTrailingAsciiWhitespace(line);
  }
  void SkipLine() {
    const size_t end = text_.find('\n', place_);
    place_ = end == absl::string_view::npos ? text_.size() : end + 1;
  }

  absl::string_view text_;
  size_t place_ = 0;
};

// The objective with its parameters, as in "binary sigmoid:1".
absl::Status ReadObjective(const LightGbmLines& header,
                           TreeEnsemble* ensemble) {
  const auto found = header.values.find("objective");
  // That of the caller's own.
  if (found == header.values.end()) return absl::OkStatus();
  const std::vector<absl::string_view> words =
      absl::StrSplit(found->second.text, ' ', absl::SkipEmpty());
  if (words.empty()) return absl::OkStatus();
  const absl::string_view name = words[0];
  ensemble->set_objective(std::string(name));
  ensemble->set_output_transform(TreeEnsemble::OTHER);
  if (name == "binary" || name == "cross_entropy") {
    ensemble->set_output_transform(TreeEnsemble::SIGMOID);
  } else if (name == "poisson" || name == "gamma" || name == "tweedie") {
    ensemble->set_output_transform(TreeEnsemble::EXPONENTIAL);
  } else if (name == "lambdarank" || name == "rank_xendcg" ||
             (name == "regression" && words.size() == 1) ||
             name == "regression_l1" || name == "huber" || name == "fair" ||
             name == "quantile" || name == "mape") {
    ensemble->set_output_transform(TreeEnsemble::IDENTITY);
  }
  for (absl::string_view word : words) {
    if (name != "binary" || !absl::ConsumePrefix(&word, "sigmoid:")) continue;
    double slope = 0;
    if (!ParseNumber(word, &slope) || !(slope > 0 && slope <= 1e6)) {
      return header.Wrong("objective", "binary with a sigmoid in (0, 1e6]");
    }
    ensemble->set_sigmoid_slope(slope);
  }
  return absl::OkStatus();
}

absl::Status ReadHeader(const LightGbmLines& header, TreeEnsemble* ensemble) {
  ASSIGN_OR_RETURN(const absl::string_view version, header.Text("version"));
  if (version != "v2" && version != "v3" && version != "v4") {
    return header.Wrong("version", "v2, v3 or v4");
  }
  RETURN_IF_ERROR(header.Integer("num_class", 1, 1).status());
  RETURN_IF_ERROR(header.Integer("num_tree_per_iteration", 1, 1).status());
  if (header.values.contains("average_output")) {
    return header.Wrong("average_output",
                        "absent: averages of trees (rf) are not supported");
  }
  ASSIGN_OR_RETURN(const int last_feature,
                   header.Integer("max_feature_idx", 0,
                                  static_cast<int>(kMaxTreeFeatures) - 1));
  ensemble->set_num_features(static_cast<uint32_t>(last_feature) + 1);
  ASSIGN_OR_RETURN(const absl::string_view names, header.Text("feature_names"));
  for (const absl::string_view name :
       absl::StrSplit(names, ' ', absl::SkipEmpty())) {
    ensemble->add_feature_names(std::string(name));
    if (ensemble->feature_names_size() > last_feature + 1) break;
  }
  if (ensemble->feature_names_size() != last_feature + 1) {
    return header.Wrong("feature_names", absl::StrCat(last_feature + 1,
                                                      " names, as "
                                                      "max_feature_idx says"));
  }
  return ReadObjective(header, ensemble);
}

}  // namespace

absl::StatusOr<TreeEnsemble> ParseLightGbmModel(absl::string_view text) {
  PartReader reader(text);
  TreeEnsemble ensemble;
  ensemble.set_number_format(TreeEnsemble::DOUBLE);
  ensemble.set_absent_feature(TreeEnsemble::ZERO);
  ASSIGN_OR_RETURN(const LightGbmLines header, reader.ReadPart(""));
  RETURN_IF_ERROR(ReadHeader(header, &ensemble));
  TreeBudget budget;
  for (int number = 0;; ++number) {
    ASSIGN_OR_RETURN(const bool has_tree, reader.NextTree(number));
    if (!has_tree) return ensemble;
    if (number >= kMaxTrees) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are more than ", kMaxTrees, " trees"));
    }
    ASSIGN_OR_RETURN(const LightGbmLines lines,
                     reader.ReadPart(absl::StrCat("Tree=", number)));
    ASSIGN_OR_RETURN(
        *ensemble.add_trees(),
        ConvertLightGbmTree(lines, static_cast<int>(ensemble.num_features()),
                            &budget));
  }
}

}  // namespace sortition
