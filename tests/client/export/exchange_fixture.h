#pragma once
// Runs `log export` and `log import` in this process, on tuples of every kind.
#include <sstream>

#include "client/export/export_commands.h"
#include "client/import/import_commands.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "io/files.h"
#include "io/segments/parse_message.h"
#include "io/segments/segment.h"
#include "process/command.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

// Reads all tuples of a directory.
inline std::vector<log::v1::BanditTuple> ReadAllTuples(const std::string& dir) {
  std::vector<log::v1::BanditTuple> tuples;
  const auto names = ListSegments(dir);
  EXPECT_OK(names);
  if (!names.ok()) return tuples;
  for (const std::string& name : *names) {
    const auto reader = SegmentReader::Open(absl::StrCat(dir, "/", name));
    EXPECT_OK(reader);
    absl::string_view payload;
    uint64_t offset = 0;
    log::v1::LogRecord record;
    while (*(*reader)->Next(&payload, &offset) ==
           SegmentReader::Outcome::kRecord) {
      EXPECT_TRUE(ParseMessage(payload, &record));
      if (record.has_tuple()) tuples.push_back(record.tuple());
    }
  }
  return tuples;
}

// Returns the bytes of the tuple; those of its attributes are sorted by name.
inline std::string SortedBytes(const log::v1::BanditTuple& tuple) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    tuple.SerializeToCodedStream(&coded);
  }
  return bytes;
}

inline std::vector<std::string> Serialised(
    const std::vector<log::v1::BanditTuple>& tuples) {
  std::vector<std::string> bytes;
  for (const auto& tuple : tuples) bytes.push_back(SortedBytes(tuple));
  return bytes;
}

// Selections of a policy that may abstain, as a sidecar writes them.
inline std::vector<log::v1::BanditTuple> Selections(size_t n) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, n);
  for (size_t i = 0; i < n; ++i) {
    log::v1::BanditTuple& tuple = tuples[i];
    tuple.mutable_position()->set_segment("1.seg");
    tuple.mutable_position()->set_offset(100 * i);
    tuple.mutable_decision()->set_time_us(1700000000000000 + 7 * i);
    tuple.mutable_decision()->set_unit_id(absl::StrCat("user ", i % 5));
    (*tuple.mutable_decision()->mutable_attributes())["device"] =
        i % 2 == 0 ? "phone" : "desktop";
    tuple.set_has_feedback(i % 3 != 0);
    if (i % 3 == 0) tuple.set_reward(0);
    if (i % 3 == 1) {
      log::v1::Feedback* feedback = tuple.add_feedback();
      feedback->set_feedback_id(absl::StrCat("f", i));
      feedback->set_decision_id(tuple.decision().decision_id());
      feedback->set_reward(tuple.reward());
    }
  }
  return tuples;
}

// Orders with the conditional propensities of their ranks, which are uniform.
inline std::vector<log::v1::BanditTuple> Orders(size_t n) {
  std::vector<log::v1::BanditTuple> tuples =
      MakeTuples({.action_kind = ActionKind::kRank}, n);
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    double sum = 0;
    for (int rank = 0; rank < decision->action_size(); ++rank) {
      const double conditional = -std::log(6 - rank);
      decision->add_conditional_log_propensities(conditional);
      sum += conditional;
    }
    decision->set_log_propensity(sum);
    log::v1::RankReward* reward = tuple.add_rank_rewards();
    reward->set_rank(1);
    reward->set_reward(0.25);
    reward->set_count(1);
  }
  return tuples;
}

// A sparse selection with a mask and a keep probability, whose id is hard to
// write.
inline log::v1::BanditTuple OddTuple() {
  log::v1::BanditTuple tuple;
  tuple.set_reward(-0.1);
  tuple.set_has_feedback(true);
  tuple.set_keep_probability(0.25);
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id("a \"quoted\", \\ id\nof two lines: ü\t€");
  decision->set_model("a/b");
  (*decision->mutable_attributes())["the \"device\", ü"] = "a\nphone, \\";
  (*decision->mutable_attributes())["country"] = "";
  decision->set_version(18446744073709551615u);
  decision->set_action_kind(log::v1::SELECT);
  decision->set_num_candidates(3);
  decision->set_num_features(1000);
  for (const bool eligible : {true, false, true}) {
    decision->add_eligible(eligible);
  }
  for (const char* id : {"x", "y,z", ""}) decision->add_candidate_ids(id);
  decision->add_action(2);
  decision->set_log_propensity(-800.123456789);
  for (const uint32_t offset : {0, 2, 2, 3}) {
    decision->mutable_sparse()->add_row_offsets(offset);
  }
  for (const uint32_t column : {3, 999, 0}) {
    decision->mutable_sparse()->add_columns(column);
  }
  for (const float value : {0.1f, 1.17549435e-38f, -3.40282347e+38f}) {
    decision->mutable_sparse()->add_values(value);
  }
  return tuple;
}

class ExchangeFixture : public testing::Test {
 protected:
  // `command` is what RunLogExport or RunLogImport does with the arguments.
  template <typename Options>
  absl::Status Run(CommandFunction<Options> function,
                   const std::string& positional,
                   const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream error;
    CommandOutput output{out, error};
    const absl::Status status =
        MakeCommand("log", positional, "", function).run(arguments, &output);
    out_ = out.str();
    error_ = error.str();
    return status;
  }

  absl::Status Export(const std::vector<std::string>& arguments) {
    return Run(RunLogExport, "DIR…", arguments);
  }
  absl::Status Import(const std::vector<std::string>& arguments) {
    return Run(RunLogImport, "FILE…", arguments);
  }
  // Imports a file with this text into imported().
  absl::Status ImportText(const std::string& text,
                          std::vector<std::string> arguments) {
    EXPECT_OK(WriteFile(input(), text));
    arguments.push_back("--tuples=" + imported());
    arguments.push_back(input());
    return Import(arguments);
  }

  std::string input() const { return dir_.Sub("in") + "/text"; }
  std::string imported() const { return dir_.Sub("out") + "/tuples"; }
  // Whether nothing lies where the import would have been, hidden or not.
  bool NothingImported() const {
    return std::filesystem::is_empty(dir_.Sub("out"));
  }

  // Writes a directory of tuples and returns its path.
  std::string Write(const std::vector<log::v1::BanditTuple>& tuples) {
    const std::string dir = dir_.Sub(absl::StrCat("log", ++num_logs_));
    WriteSegment(dir, 0, tuples);
    return dir;
  }

  const TempDir dir_;
  int num_logs_ = 0;
  std::string out_;
  std::string error_;
};

}  // namespace sortition
