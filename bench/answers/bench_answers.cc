// Answer selection and triggering from text on SelQA, by lexical features.
//
// Reads the sets of answer sentence selection of SelQA [JurczykZhaiChoi16].
// Features are declared below (or by --spec), learned from four fifths of the
// questions of dev; the others choose the regularisation and the threshold. No
// neural network, and no data from elsewhere.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "bench/answers/answer_data.h"
#include "bench/answers/answer_figures.h"
#include "bench/answers/answer_methods.h"
#include "bench/support/report.h"
#include "core/base/status_macros.h"
#include "google/protobuf/text_format.h"

ABSL_FLAG(std::string, selqa, "",
          "directory with selqa-ass-dev.tsv and selqa-ass-test.tsv");
ABSL_FLAG(std::string, spec, "",
          "text proto sortition.model.v1.FeatureSpec instead of the built-in "
          "one; columns must be question and sentence");
ABSL_FLAG(bool, test, true,
          "measure on the test questions; false: only on "
          "those that validate, to choose features");

namespace sortition {
namespace {

constexpr char kSpec[] = R"spec(
schema {
  column { name: "question" type: TEXT scope: QUERY }
  column { name: "sentence" type: TEXT }
}
transform {
  text_pair {
    query: "question" candidate: "sentence" standardise: true
    words { stemmer: "english" drop_english_stop_words: true }
    measure: [BM25, IDF_OVERLAP, COVERAGE, LONGEST_COMMON_SUBSEQUENCE,
              BIGRAM_OVERLAP, NEGATION_AGREEMENT, NUMBER_AGREEMENT,
              LENGTH_RATIO, ANSWER_TYPE]
  }
}
transform {
  prefix: "words."
  text_pair {
    query: "question" candidate: "sentence" standardise: true
    measure: [BM25, IDF_OVERLAP, LONGEST_COMMON_SUBSEQUENCE, BIGRAM_OVERLAP]
  }
}
transform {
  relative {
    feature: ["bm25(question,sentence)", "idf_overlap(question,sentence)"]
  }
}
)spec";

absl::StatusOr<model::v1::FeatureSpec> ReadSpec() {
  std::string text = kSpec;
  if (const std::string path = absl::GetFlag(FLAGS_spec); !path.empty()) {
    std::ifstream file(path);
    std::ostringstream contents;
    contents << file.rdbuf();
    text = contents.str();
  }
  model::v1::FeatureSpec spec;
  if (!google::protobuf::TextFormat::ParseFromString(text, &spec)) {
    return absl::InvalidArgumentError("--spec is no FeatureSpec");
  }
  return spec;
}

struct Row {
  SelectionFigures selection;
  TriggeringFigures triggering;
};

absl::StatusOr<Row> Measure(const AnswerMethod& method, const AnswerData& data,
                            bool on_test) {
  ASSIGN_OR_RETURN(const AnswerScorer scorer, method.learn(data));
  const AnswerPart& selection = on_test ? data.test : data.validate;
  const AnswerPart& calibration = data.triggering_validate;
  const AnswerPart& triggering =
      on_test ? data.triggering_test : data.triggering_validate;
  const double threshold =
      method.threshold.has_value()
          ? *method.threshold
          : BestThreshold(ScoreAnswers(scorer, calibration),
                          calibration.relevances);
  return Row{
      MeasureSelection(ScoreAnswers(scorer, selection), selection.relevances),
      MeasureTriggering(ScoreAnswers(scorer, triggering), triggering.relevances,
                        threshold)};
}

absl::StatusOr<Report> RunAll() {
  const std::string directory = absl::GetFlag(FLAGS_selqa);
  if (directory.empty()) {
    return absl::InvalidArgumentError("--selqa is empty, must be a directory");
  }
  ASSIGN_OR_RETURN(const model::v1::FeatureSpec spec, ReadSpec());
  ASSIGN_OR_RETURN(const AnswerData data, ReadAnswerData(directory, spec));
  const bool on_test = absl::GetFlag(FLAGS_test);
  absl::PrintF("questions: %d train, %d validate, %d test; %d features\n",
               data.train.size(), data.validate.size(), data.test.size(),
               data.transform.num_features());
  absl::PrintF("on %s questions%12s %8s %8s   triggering: %6s %8s %8s\n",
               on_test ? "test" : "validation", "MAP", "MRR", "P@1", "prec.",
               "recall", "F1");
  std::vector<Target> targets;
  for (const AnswerMethod& method : ListAnswerMethods()) {
    ASSIGN_OR_RETURN(const Row row, Measure(method, data, on_test));
    absl::PrintF("%-26s %8.4f %8.4f %8.4f %20.4f %8.4f %8.4f\n", method.name,
                 row.selection.mean_average_precision,
                 row.selection.mean_reciprocal_rank,
                 row.selection.precision_at_1, row.triggering.precision,
                 row.triggering.recall, row.triggering.f1);
    if (absl::StartsWith(method.name, "lexical-linear")) {
      targets.push_back({method.name + ": mean reciprocal rank",
                         row.selection.mean_reciprocal_rank, 0.80, true});
    }
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Answer selection and triggering from text on SelQA, by lexical "
      "features.",
      sortition::RunAll);
}
