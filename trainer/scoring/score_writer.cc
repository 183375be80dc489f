#include "trainer/scoring/score_writer.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "process/json_writer.h"
#include "trainer/scoring/trec_ids.h"

namespace sortition {
namespace {

std::string NumberText(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

class TsvWriter : public ScoreWriter {
 public:
  std::string Header() const override {
    return "qid\tdocument_index\tid\tlabel\tscore\tprobability\n";
  }

  absl::StatusOr<std::string> Format(const StreamedQuery& query,
                                     const QueryScores& scores) override {
    RETURN_IF_ERROR(CheckField("the id of a query", query.id));
    std::string text;
    for (size_t i = 0; i < scores.scores.size(); ++i) {
      const std::string id =
          query.candidate_ids.empty() ? "" : query.candidate_ids[i];
      RETURN_IF_ERROR(CheckField(absl::StrCat("the id of candidate ", i), id));
      const std::string label =
          query.has_labels ? absl::StrCat(query.relevances[i]) : "";
      absl::StrAppend(&text, query.id, "\t", i, "\t", id, "\t", label, "\t",
                      NumberText(scores.scores[i]), "\t",
                      NumberText(scores.probabilities[i]), "\n");
    }
    if (scores.abstain_score.has_value()) {
      absl::StrAppend(&text, query.id, "\t", kAbstain, "\t\t\t",
                      NumberText(*scores.abstain_score), "\t",
                      NumberText(scores.abstain_probability), "\n");
    }
    return text;
  }

 private:
  static absl::Status CheckField(absl::string_view what, absl::string_view id) {
    if (id.find_first_of("\t\r\n") == id.npos) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        what, " is '", Shown(id),
        "', must be without tabs and line breaks with --output=tsv: use "
        "--output=json"));
  }
};

class JsonLinesWriter : public ScoreWriter {
 public:
  explicit JsonLinesWriter(ActionKind kind) : kind_(kind) {}

  absl::StatusOr<std::string> Format(const StreamedQuery& query,
                                     const QueryScores& scores) override {
    JsonWriter json;
    json.BeginObject().Key("qid").String(query.id);
    json.Key("probability_of").String(ProbabilityName(kind_));
    json.Key("candidates").BeginArray();
    for (size_t i = 0; i < scores.scores.size(); ++i) {
      json.BeginObject().Key("document_index").Count(i);
      if (!query.candidate_ids.empty()) {
        json.Key("id").String(query.candidate_ids[i]);
      }
      if (query.has_labels) json.Key("label").Count(query.relevances[i]);
      json.Key("score").Number(scores.scores[i]);
      json.Key("probability").Number(scores.probabilities[i]).EndObject();
    }
    json.EndArray();
    if (scores.abstain_score.has_value()) {
      json.Key("abstain").BeginObject();
      json.Key("score").Number(*scores.abstain_score);
      json.Key("probability").Number(scores.abstain_probability).EndObject();
    }
    json.EndObject();
    return json.text() + "\n";
  }

 private:
  const ActionKind kind_;
};

// Lines "qid Q0 docno rank score tag" by falling score, with ranks from 1.
class TrecRunWriter : public ScoreWriter {
 public:
  explicit TrecRunWriter(std::string tag) : tag_(std::move(tag)) {}

  absl::StatusOr<std::string> Format(const StreamedQuery& query,
                                     const QueryScores& scores) override {
    ASSIGN_OR_RETURN(const std::vector<std::string> ids, TrecIdsOf(query));
    std::vector<size_t> order(ids.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) {
      return scores.scores[i] > scores.scores[j];
    });
    std::string text;
    for (size_t rank = 0; rank < order.size(); ++rank) {
      absl::StrAppend(&text, query.id, " Q0 ", ids[order[rank]], " ", rank + 1,
                      " ", NumberText(scores.scores[order[rank]]), " ", tag_,
                      "\n");
    }
    return text;
  }

 private:
  const std::string tag_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ScoreWriter>> MakeScoreWriter(
    const config::v1::ScoreOptions& options, ActionKind kind) {
  std::unique_ptr<ScoreWriter> writer;
  if (options.output() == "trec") {
    RETURN_IF_ERROR(CheckTrecId("--run_tag", options.run_tag()));
    writer = std::make_unique<TrecRunWriter>(options.run_tag());
  } else if (options.output() == "json") {
    writer = std::make_unique<JsonLinesWriter>(kind);
  } else {
    writer = std::make_unique<TsvWriter>();
  }
  return writer;
}

absl::string_view ProbabilityName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kSelect:
      return "selected";
    case ActionKind::kRank:
      return "first";
    case ActionKind::kSubset:
      break;
  }
  return "included";
}

}  // namespace sortition
