// Writes the corpora of the fuzz targets: segments and models by the writers
// that the programs use, joins as random bytes.
// usage: make_fuzz_corpus DIR
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/segments/segment_writer.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/column_model.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

constexpr int64_t kTimeUs = 1'700'000'000'000'000;

log::v1::Decision MakeDecision(const std::string& id) {
  log::v1::Decision decision;
  decision.set_decision_id(id);
  decision.set_time_us(kTimeUs);
  decision.set_model("m");
  decision.set_version(3);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.mutable_policy()->set_inverse_temperature(1);
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(3);
  decision.set_num_features(2);
  for (const int document : {2, 0, 1}) decision.add_action(document);
  decision.set_log_propensity(-1.5);
  for (int i = 0; i < 6; ++i) {
    decision.add_dense_values(0.25f * static_cast<float>(i));
  }
  return decision;
}

std::vector<log::v1::LogRecord> SpoolRecords() {
  std::vector<log::v1::LogRecord> records(5);
  *records[0].mutable_decision() = MakeDecision("d1");
  records[1].mutable_shown()->set_decision_id("d1");
  records[1].mutable_shown()->add_shown(2);
  records[2].mutable_feedback()->set_feedback_id("f1");
  records[2].mutable_feedback()->set_decision_id("d1");
  records[2].mutable_feedback()->set_reward(1);
  records[3].mutable_gap()->set_lost_records(7);
  *records[4].mutable_decision() = MakeDecision("d2");
  return records;
}

std::vector<log::v1::LogRecord> TupleRecords() {
  std::vector<log::v1::LogRecord> records(2);
  log::v1::BanditTuple& tuple = *records[0].mutable_tuple();
  tuple.mutable_position()->set_segment("1.seg");
  tuple.mutable_position()->set_offset(60);
  tuple.set_reward(1);
  tuple.set_has_feedback(true);
  tuple.add_feedback()->set_feedback_id("f1");
  *tuple.mutable_decision() = MakeDecision("d1");
  records[1].mutable_late()->set_reason(log::v1::LateFeedback::AFTER_WINDOW);
  records[1].mutable_late()->mutable_feedback()->set_feedback_id("f2");
  return records;
}

// Returns the bytes of a segment; without its footer if it is not closed.
std::string SegmentBytes(const std::vector<log::v1::LogRecord>& records,
                         bool is_closed) {
  const TempDir dir;
  SegmentWriter::Options options;
  options.dir = dir.path();
  options.name = SegmentName(kTimeUs, "server", 0);
  options.preallocate_bytes = 2048;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::SPOOL);
  options.header.set_writer_id("server");
  options.header.set_incarnation("1");
  auto writer = SegmentWriter::Create(options);
  CHECK(writer.ok());
  for (const log::v1::LogRecord& record : records) {
    CHECK((*writer)->Append(record).ok());
  }
  if (is_closed) CHECK((*writer)->Close().ok());
  const auto bytes = ReadFile(dir / options.name);
  CHECK(bytes.ok());
  return *bytes;
}

std::map<std::string, std::string> Segments() {
  std::map<std::string, std::string> files;
  const std::string closed = SegmentBytes(SpoolRecords(), true);
  files["closed"] = closed;
  files["live"] = SegmentBytes(SpoolRecords(), false);
  files["tuples"] = SegmentBytes(TupleRecords(), true);
  files["empty"] = SegmentBytes({}, false);
  files["torn"] = closed.substr(0, closed.size() - 50);
  files["flipped"] = closed;
  files["flipped"][closed.size() / 2] ^= 1;
  files["no_length"] = closed;
  // The length of the first frame, that of the header.
  files["no_length"][3] ^= 1;
  return files;
}

std::map<std::string, std::string> Joins() {
  std::map<std::string, std::string> files;
  std::mt19937 random(1);
  for (int i = 0; i < 6; ++i) {
    std::string& bytes = files[absl::StrCat("random", i)];
    bytes.resize(100u << i);
    for (char& byte : bytes) byte = static_cast<char>(random());
  }
  return files;
}

std::map<std::string, std::string> Models() {
  using model::v1::Policy;
  const std::map<std::string, std::function<void(Policy*)>> kinds = {
      {"softmax",
       [](Policy* policy) {
         policy->mutable_softmax_selection()->set_abstain_score(0.5);
       }},
      {"plackett_luce",
       [](Policy* policy) { policy->mutable_plackett_luce(); }},
      {"rank_factors",
       [](Policy* policy) {
         policy->mutable_plackett_luce()->add_rank_factors(2);
         policy->mutable_plackett_luce()->add_rank_factors(0.5);
       }},
      {"sorted",
       [](Policy* policy) {
         policy->mutable_sorted_ranking()->set_swap_probability(0.5);
         policy->mutable_sorted_ranking()->set_shuffle_probability(0.5);
         policy->mutable_sorted_ranking()->set_shuffle_ranks(3);
       }},
      {"game_ranking",
       [](Policy* policy) {
         policy->mutable_game_ranking()->set_discount(
             model::v1::GameRanking::DCG);
       }},
      {"boltzmann",
       [](Policy* policy) {
         policy->mutable_boltzmann_ranking()->set_rank_weights(
             model::v1::BoltzmannRanking::LINEAR);
       }},
      {"precision",
       [](Policy* policy) {
         policy->mutable_game_subset()->set_measure(
             model::v1::GameSubset::PRECISION);
         policy->mutable_game_subset()->set_k(2);
       }},
      {"f_beta",
       [](Policy* policy) {
         policy->mutable_game_subset()->set_measure(
             model::v1::GameSubset::F_BETA);
       }},
      {"independent_subset",
       [](Policy* policy) { policy->mutable_independent_subset(); }},
  };
  std::map<std::string, std::string> files;
  const TempDir dir;
  const ModelStore store(dir.path());
  for (const auto& [name, set_kind] : kinds) {
    model::v1::Model model;
    model.set_name(name);
    model.set_num_features(3);
    for (const double weight : {1.0, -0.5, 0.25}) model.add_weights(weight);
    model.mutable_policy()->set_inverse_temperature(1);
    model.mutable_policy()->set_uniform_mixture(0.1);
    set_kind(model.mutable_policy());
    const auto version = store.Publish(model, nullptr, {});
    CHECK(version.ok());
    const auto bytes = ReadFile(
        absl::StrCat(dir.path(), "/", name, "/", *version, "/model.pb"));
    CHECK(bytes.ok());
    files[name] = *bytes;
  }
  return files;
}

// As fuzz_request.cc reads them: the first byte chooses the method.
std::map<std::string, std::string> Requests() {
  v1::DecisionContext context;
  context.set_decision_id("d");
  for (const float value : {1.0f, 0.0f, 0.0f, 1.0f, 1.0f, -1.0f}) {
    context.mutable_candidates()->mutable_dense()->add_values(value);
  }
  context.mutable_candidates()->set_num_features(2);
  for (const char* id : {"a", "b", "c"}) {
    context.mutable_candidates()->add_ids(id);
  }
  for (const bool eligible : {true, false, true}) {
    context.add_eligible(eligible);
  }
  context.set_return_scores(true);
  context.set_return_probabilities(true);
  context.set_return_game(true);
  (*context.mutable_attributes())["device"] = "phone";
  std::map<std::string, std::string> files;
  const auto add = [&](const std::string& name, char method,
                       const google::protobuf::Message& request) {
    files[name] = method + request.SerializeAsString();
  };
  v1::RankRequest rank;
  *rank.mutable_context() = context;
  rank.set_top_k(2);
  for (const char* model : {"rank", "boltzmann"}) {
    rank.mutable_context()->set_model(model);
    add(model, 0, rank);
  }
  v1::SelectRequest select;
  *select.mutable_context() = context;
  select.mutable_context()->set_model("select");
  add("select", 1, select);
  const Schema schema = *Schema::Create(ColumnSpec().schema());
  RandomSequence random(SeedKey(1));
  for (const char* model : {"columns", "default"}) {
    v1::SelectRequest columns;
    columns.mutable_context()->set_model(model);
    *columns.mutable_context()->mutable_candidates()->mutable_columns() =
        MakeUpColumns(schema, 3, &random);
    add(absl::StrCat("columns_", model), 1, columns);
  }
  v1::LabelRequest label;
  *label.mutable_context() = context;
  for (const char* model : {"label", "game"}) {
    label.mutable_context()->set_model(model);
    add(model, 2, label);
  }
  v1::AggregateRequest aggregate;
  *aggregate.mutable_context() = context;
  aggregate.mutable_aggregation()->add_weights(1);
  aggregate.mutable_aggregation()->add_weights(2);
  aggregate.set_bootstrap_samples(10);
  aggregate.set_confidence(0.95);
  aggregate.set_concentration(1);
  add("aggregate", 3, aggregate);
  v1::ReportShownRequest shown;
  shown.set_decision_id("d");
  shown.add_shown(0);
  add("shown", 4, shown);
  v1::ReportFeedbackRequest feedback;
  feedback.add_feedback()->set_decision_id("d");
  feedback.mutable_feedback(0)->set_feedback_id("f");
  feedback.mutable_feedback(0)->set_reward(1);
  add("feedback", 5, feedback);
  files["tokens"] = absl::StrCat("\x06# comment\ndecide,admin front ",
                                 std::string(64, 'a'), " 2030-01-31\n");
  return files;
}

void Write(const std::string& dir,
           const std::map<std::string, std::string>& files) {
  std::filesystem::create_directories(dir);
  for (const auto& [name, bytes] : files) {
    CHECK(WriteFile(absl::StrCat(dir, "/", name), bytes).ok());
  }
}

}  // namespace
}  // namespace sortition

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_fuzz_corpus DIR\n");
    return 1;
  }
  const std::string dir = argv[1];
  sortition::Write(dir + "/segments", sortition::Segments());
  sortition::Write(dir + "/join", sortition::Joins());
  sortition::Write(dir + "/model", sortition::Models());
  sortition::Write(dir + "/request", sortition::Requests());
  return 0;
}
