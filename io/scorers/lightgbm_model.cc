#include "io/scorers/lightgbm_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

// Returns true if a line ends the trees. Versions of LightGBM before 2.2 go on
// without "end of trees", always with the importance of the features.
bool EndsTrees(absl::string_view line) {
  return line == "end of trees" || line == "feature importances:" ||
         line == "feature_importances:" || line == "parameters:" ||
         absl::StartsWith(line, "pandas_categorical:");
}

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
      if (absl::StartsWith(line, "Tree=") || EndsTrees(line)) break;
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
  // another number, and where the file ends, unless the sizes of the trees in
  // the header show that it is whole.
  absl::StatusOr<bool> NextTree(int number, absl::string_view sizes) {
    if (number == 0) trees_begin_ = place_;
    const absl::string_view line = PeekLine();
    if (EndsTrees(line)) return false;
    if (place_ == text_.size() && HasAllTrees(number, sizes)) return false;
    const std::string expected = absl::StrCat("Tree=", number);
    if (line != expected) {
      return absl::InvalidArgumentError(absl::StrCat(
          "byte ", place_, ": the line is \"", Shown(line), "\", must be \"",
          expected,
          "\" or \"end of trees\", or else the header's tree_sizes must be "
          "those of the trees: the file is not whole"));
    }
    SkipLine();
    return true;
  }

 private:
  // Returns true if the header's tree_sizes are those of `count` trees, which
  // take all bytes up to the end of the file.
  bool HasAllTrees(int count, absl::string_view sizes) const {
    size_t num_bytes = 0;
    int num_sizes = 0;
    for (const absl::string_view part :
         absl::StrSplit(sizes, ' ', absl::SkipEmpty())) {
      uint32_t size = 0;
      if (!ParseNumber(part, &size)) return false;
      num_bytes += size;
      ++num_sizes;
    }
    const absl::string_view trees = text_.substr(trees_begin_);
    // LightGBM counts \n alone.
    const auto returns =
        static_cast<size_t>(std::count(trees.begin(), trees.end(), '\r'));
    return num_sizes == count && num_bytes == trees.size() - returns;
  }

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
  size_t trees_begin_ = 0;
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
  if (!header.values.contains("version")) {
    return absl::InvalidArgumentError(
        "byte 0: version is absent, must be v2, v3 or v4: LightGBM before 2.1 "
        "wrote none, and perhaps other trees; load the model with a later "
        "version and save it again");
  }
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

// feature_infos of column 0: "none" where it had one value in training, else a
// range or categories.
FirstColumn ReadFirstColumn(const LightGbmLines& header) {
  const auto found = header.values.find("feature_infos");
  if (found == header.values.end()) return FirstColumn::kUnknown;
  const absl::string_view infos = found->second.text;
  const absl::string_view first = infos.substr(0, infos.find(' '));
  if (first.empty()) return FirstColumn::kUnknown;
  return first == "none" ? FirstColumn::kConstant : FirstColumn::kVaries;
}

}  // namespace

absl::StatusOr<TreeModelFile> ParseLightGbmModel(absl::string_view text) {
  PartReader reader(text);
  TreeModelFile file;
  TreeEnsemble& ensemble = file.ensemble;
  ensemble.set_number_format(TreeEnsemble::DOUBLE);
  ensemble.set_absent_feature(TreeEnsemble::ZERO);
  ASSIGN_OR_RETURN(const LightGbmLines header, reader.ReadPart(""));
  RETURN_IF_ERROR(ReadHeader(header, &ensemble));
  file.first_column = ReadFirstColumn(header);
  const auto sizes = header.values.find("tree_sizes");
  TreeBudget budget;
  for (int number = 0;; ++number) {
    ASSIGN_OR_RETURN(const bool has_tree,
                     reader.NextTree(number, sizes == header.values.end()
                                                 ? absl::string_view()
                                                 : sizes->second.text));
    if (!has_tree) return file;
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
