#include "trainer/labelled/query_scorer.h"

#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/data/candidates.h"
#include "core/scoring/model_features.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "trainer/labelled/labelled_frame.h"

namespace sortition {
namespace {

class ByModel : public QueryScorer {
 public:
  static absl::StatusOr<std::unique_ptr<QueryScorer>> Create(
      const model::v1::Model& model) {
    ASSIGN_OR_RETURN(ModelFeatures features, ModelFeatures::Create(model));
    return std::unique_ptr<QueryScorer>(
        new ByModel(model, std::move(features)));
  }

  const Schema* schema() const override {
    return features_.transform() == nullptr ? nullptr
                                            : &features_.transform()->schema();
  }

  // Lines of a file end at the last feature that is not 0, so a query may have
  // fewer features than the model.
  absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                             uint32_t num_features) override {
    if (weights_.size() != features_.num_features()) {
      return absl::InvalidArgumentError(
          absl::StrCat("model '", name_, "' has ", weights_.size(),
                       " weights for ", features_.num_features(),
                       " features, must have one each to order candidates"));
    }
    if (query.columns == nullptr && num_features > features_.num_inputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "data has ", num_features, " features, must have at most ",
          features_.num_inputs(), ", those of model '", name_, "'"));
    }
    ASSIGN_OR_RETURN(const std::vector<float> rows,
                     MakeRows(features_, query, num_features, &scratch_));
    ASSIGN_OR_RETURN(const Candidates items,
                     Candidates::Dense(rows, features_.num_features()));
    std::vector<uint32_t> all(query.relevances.size());
    std::iota(all.begin(), all.end(), 0u);
    std::vector<double> scores(all.size());
    items.Scores(all, weights_, scores);
    return scores;
  }
  void EndFile(size_t) override {}
  absl::Status End() override { return absl::OkStatus(); }

 private:
  ByModel(const model::v1::Model& model, ModelFeatures features)
      : name_(model.name()),
        features_(std::move(features)),
        weights_(model.weights().begin(), model.weights().end()) {}

  const std::string name_;
  const ModelFeatures features_;
  const std::vector<double> weights_;
  ModelFeatureScratch scratch_;
};

class ByFile : public QueryScorer {
 public:
  static absl::StatusOr<std::unique_ptr<QueryScorer>> Read(
      const std::string& path) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
    auto scorer = std::make_unique<ByFile>();
    scorer->path_ = path;
    size_t line = 0;
    for (absl::string_view token : absl::StrSplit(text, '\n')) {
      ++line;
      token = absl::StripAsciiWhitespace(token);
      if (token.empty()) continue;
      double score = 0;
      if (!absl::SimpleAtod(token, &score) || !std::isfinite(score)) {
        return absl::InvalidArgumentError(
            absl::StrCat(path, ": line ", line, " is '", token,
                         "', must be one finite number"));
      }
      scorer->scores_.push_back(score);
    }
    return scorer;
  }

  absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                             uint32_t) override {
    std::vector<double> scores;
    for (const uint32_t row : query.file_rows) {
      if (before_ + row >= scores_.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": has ", scores_.size(),
                         " scores, must have one for each candidate of data"));
      }
      scores.push_back(scores_[before_ + row]);
    }
    return scores;
  }
  void EndFile(size_t num_candidates) override { before_ += num_candidates; }
  absl::Status End() override {
    if (before_ == scores_.size()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(path_, ": has ", scores_.size(), " scores, must have ",
                     before_, ", one for each candidate of data"));
  }

 private:
  std::string path_;
  std::vector<double> scores_;
  size_t before_ = 0;  // Number of candidates in earlier files.
};

}  // namespace

absl::StatusOr<std::unique_ptr<QueryScorer>> ReadScores(
    const std::string& path) {
  return ByFile::Read(path);
}

absl::StatusOr<std::unique_ptr<QueryScorer>> MakeModelScorer(
    const model::v1::Model& model) {
  return ByModel::Create(model);
}

absl::StatusOr<ModelScorer> LoadModelScorer(const std::string& model_store,
                                            const std::string& model,
                                            uint64_t version) {
  ASSIGN_OR_RETURN(const StoredModel stored,
                   LoadVersion(model, version, ModelStore(model_store)));
  ASSIGN_OR_RETURN(auto scorer, MakeModelScorer(stored.model));
  return ModelScorer{stored.model.version(), std::move(scorer)};
}

}  // namespace sortition
