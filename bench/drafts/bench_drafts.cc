// Drafted features beside written ones: rewards of two simulated shops, NDCG of
// SelQA and of MQ2008 as CSV.
//
// Each line trains twice with default options, once with a FeatureSpec that was
// written for the data and once with --features=auto. Rewards are the
// expectation over fresh queries, whose truth is known; NDCG@10 is that of test
// queries.
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/drafts/product_worlds.h"
#include "bench/support/report.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/policies/linear_policy.h"
#include "google/protobuf/text_format.h"
#include "io/datasets/letor.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/segments/segment_batch.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/temp_dir.h"
#include "trainer/train.h"

ABSL_FLAG(std::string, selqa, "",
          "directory with selqa-ass-dev.tsv and selqa-ass-test.tsv; empty: "
          "without");
ABSL_FLAG(std::string, selqa_spec, "deploy/features/answers.textproto",
          "the written FeatureSpec for SelQA");
ABSL_FLAG(std::string, letor, "",
          "directory with S1.txt to S5.txt of MQ2008; empty: without");
ABSL_FLAG(int, decisions, 50000, "decisions of each simulated log");
ABSL_FLAG(uint32_t, ranks, 0,
          "ranks of each logged order; 0: selections of one product");
ABSL_FLAG(std::string, train, "", "further TrainOptions, in text format");
ABSL_FLAG(int, logs, 3, "simulated logs of each shop");

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;

constexpr double kAtLeast = 0.98;

// The figures of one set, means over its runs.
struct Comparison {
  std::string name;
  double written = 0;
  double drafted = 0;
};

// Returns the mean reward of a policy over fresh queries.
absl::StatusOr<double> TrueReward(const ProductWorld& world,
                                  const model::v1::Model& model) {
  ASSIGN_OR_RETURN(const LinearPolicy policy, LinearPolicy::Create(model));
  RandomSequence random(SeedKey(1000));
  PolicyWorkspace workspace;
  std::vector<double> sells, probabilities;
  constexpr int kQueries = 5000;
  double sum = 0;
  for (int i = 0; i < kQueries; ++i) {
    const sortition::v1::Columns columns = world.MakeQuery(&random, &sells);
    PolicyQuery query;
    query.columns = &columns;
    policy.FirstProbabilities(query, &workspace, &probabilities);
    RETURN_IF_ERROR(workspace.refusal);
    for (size_t j = 0; j < sells.size(); ++j)
      sum += probabilities[j] * sells[j];
  }
  return sum / kQueries;
}

absl::Status WriteLog(const std::string& dir,
                      const std::vector<log::v1::BanditTuple>& tuples) {
  SegmentBatch::Options options;
  options.dir = dir;
  options.writer_id = "bench";
  options.kind = log::v1::SegmentHeader::TUPLES;
  options.segment_bytes = 1 << 28;
  options.created_us = 1700000000000000;
  ASSIGN_OR_RETURN(const auto batch, SegmentBatch::Create(options));
  log::v1::LogRecord record;
  for (const log::v1::BanditTuple& tuple : tuples) {
    *record.mutable_tuple() = tuple;
    RETURN_IF_ERROR(batch->Append(record.SerializeAsString()));
  }
  return batch->Publish();
}

// Returns the model that `train` makes of the log.
absl::StatusOr<model::v1::Model> TrainOn(const std::string& tuples,
                                         const std::string& store,
                                         const std::string& features) {
  TrainOptions options;
  if (!google::protobuf::TextFormat::ParseFromString(absl::GetFlag(FLAGS_train),
                                                     &options)) {
    return absl::InvalidArgumentError("--train: must be TrainOptions");
  }
  options.set_tuples(tuples);
  options.set_model_store(store);
  options.set_features(features);
  options.set_force(true);
  RETURN_IF_ERROR(Train(options).status());
  ASSIGN_OR_RETURN(const StoredModel stored,
                   ModelStore(store).Load("default", 1));
  return stored.model;
}

absl::StatusOr<Comparison> CompareOn(const ProductWorld& world) {
  const int num_logs = absl::GetFlag(FLAGS_logs);
  Comparison comparison{
      absl::StrCat("reward of the shop '", world.name(), "'")};
  for (int i = 0; i < num_logs; ++i) {
    const TempDir dir;
    RETURN_IF_ERROR(
        WriteLog(dir / "tuples",
                 world.MakeLog(absl::GetFlag(FLAGS_decisions), 1 + uint64_t(i),
                               absl::GetFlag(FLAGS_ranks))));
    RETURN_IF_ERROR(WriteFile(dir / "written", world.written_spec()));
    ASSIGN_OR_RETURN(const auto written,
                     TrainOn(dir / "tuples", dir / "models1", dir / "written"));
    ASSIGN_OR_RETURN(const auto drafted,
                     TrainOn(dir / "tuples", dir / "models2", "auto"));
    ASSIGN_OR_RETURN(const double of_written, TrueReward(world, written));
    ASSIGN_OR_RETURN(const double of_drafted, TrueReward(world, drafted));
    absl::PrintF("  %s, log %d: written %.4f, drafted %.4f (%d features)\n",
                 world.name(), i + 1, of_written, of_drafted,
                 drafted.num_features());
    comparison.written += of_written / num_logs;
    comparison.drafted += of_drafted / num_logs;
  }
  return comparison;
}

// Returns NDCG@10 of the test queries.
absl::StatusOr<double> NdcgOf(TrainOptions options, const std::string& store,
                              const std::string& features) {
  options.set_learner("listnet");
  options.set_action("rank");
  options.set_model_store(store);
  options.set_features(features);
  options.set_dry_run(true);
  options.set_memory_mb(4096);
  ASSIGN_OR_RETURN(const TrainReport report, Train(options));
  for (const auto& quality : report.labelled().quality()) {
    if (quality.name() == "NDCG@10") return quality.value();
  }
  return absl::InternalError("the report has no NDCG@10");
}

absl::StatusOr<Comparison> CompareOnSelqa(const std::string& selqa) {
  const TempDir dir;
  TrainOptions options;
  options.add_data(selqa + "/selqa-ass-dev.tsv");
  options.add_test(selqa + "/selqa-ass-test.tsv");
  Comparison comparison{"NDCG@10 of SelQA"};
  ASSIGN_OR_RETURN(comparison.written, NdcgOf(options, dir / "models",
                                              absl::GetFlag(FLAGS_selqa_spec)));
  ASSIGN_OR_RETURN(comparison.drafted, NdcgOf(options, dir / "models", "auto"));
  return comparison;
}

// Writes a part of MQ2008 as CSV, whose columns are called f1, f2 and so on.
absl::Status WriteAsCsv(const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const LabelledQueries queries, ReadLetor(from, {}));
  const uint32_t d = queries.num_features;
  std::string text = "query,label";
  for (uint32_t j = 1; j <= d; ++j) absl::StrAppend(&text, ",f", j);
  for (const LabelledQuery& query : queries.queries) {
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      absl::StrAppend(&text, "\n", query.id, ",", query.relevances[i]);
      for (uint32_t j = 0; j < d; ++j) {
        absl::StrAppend(&text, ",", query.features[i * d + j]);
      }
    }
  }
  return WriteFile(to, text + "\n");
}

absl::StatusOr<Comparison> CompareOnLetor(const std::string& letor) {
  constexpr int kFolds = 5;
  const TempDir dir;
  // The spec that a person writes for features that are within [0, 1] already.
  std::string schema = "schema {\n", transforms;
  for (int j = 1; j <= 46; ++j) {
    absl::StrAppend(&schema, "column { name: 'f", j, "' type: NUMBER }\n");
    absl::StrAppend(&transforms, "transform { number { column: 'f", j,
                    "' standardise: true } }\n");
  }
  RETURN_IF_ERROR(WriteFile(dir / "written", schema + "}\n" + transforms));
  for (int i = 1; i <= kFolds; ++i) {
    RETURN_IF_ERROR(WriteAsCsv(absl::StrCat(letor, "/S", i, ".txt"),
                               dir / absl::StrCat("S", i, ".csv")));
  }
  Comparison comparison{"NDCG@10 of MQ2008, five folds"};
  for (int fold = 0; fold < kFolds; ++fold) {
    const auto part = [&](int i) {
      return dir / absl::StrCat("S", (fold + i) % kFolds + 1, ".csv");
    };
    TrainOptions options;
    for (int i = 0; i < 3; ++i) options.add_data(part(i));
    options.add_validation(part(3));
    options.add_test(part(4));
    ASSIGN_OR_RETURN(const double written,
                     NdcgOf(options, dir / "models", dir / "written"));
    ASSIGN_OR_RETURN(const double drafted,
                     NdcgOf(options, dir / "models", "auto"));
    absl::PrintF("  MQ2008, fold %d: written %.4f, drafted %.4f\n", fold + 1,
                 written, drafted);
    comparison.written += written / kFolds;
    comparison.drafted += drafted / kFolds;
  }
  return comparison;
}

absl::StatusOr<Report> RunAll() {
  std::vector<Comparison> comparisons;
  const SearchShop search;
  const PageShop page;
  for (const ProductWorld* const world :
       std::initializer_list<const ProductWorld*>{&search, &page}) {
    ASSIGN_OR_RETURN(comparisons.emplace_back(), CompareOn(*world));
  }
  if (const std::string selqa = absl::GetFlag(FLAGS_selqa); !selqa.empty()) {
    ASSIGN_OR_RETURN(comparisons.emplace_back(), CompareOnSelqa(selqa));
  }
  if (const std::string letor = absl::GetFlag(FLAGS_letor); !letor.empty()) {
    ASSIGN_OR_RETURN(comparisons.emplace_back(), CompareOnLetor(letor));
  }
  absl::PrintF("%-40s %9s %9s %7s\n", "", "written", "drafted", "ratio");
  std::vector<Target> targets;
  for (const Comparison& each : comparisons) {
    const double ratio = each.drafted / each.written;
    absl::PrintF("%-40s %9.4f %9.4f %7.4f\n", each.name, each.written,
                 each.drafted, ratio);
    targets.push_back(
        {each.name + ": drafted over written", ratio, kAtLeast, true});
  }
  return targets;
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  return sortition::RunBenchmark(
      argc, argv,
      "Drafted features beside written ones: rewards of two simulated shops, "
      "NDCG of SelQA and of MQ2008 as CSV.",
      sortition::RunAll);
}
