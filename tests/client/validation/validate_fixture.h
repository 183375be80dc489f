#pragma once
// Logs as a sidecar writes them, of any policy, with damage on demand.
#include <map>

#include "client/validation/log_validate.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "tests/client/validation/loggers.h"

namespace sortition {

using Tuples = std::vector<log::v1::BanditTuple>;

class ValidateFixture : public testing::Test {
 protected:
  // Returns tuples with ids from `first` on, half of them with feedback. The
  // columns are of different scales.
  static Tuples Log(const Logger& logger, size_t n, size_t first = 0) {
    const LinearPolicy policy = logger.Make();
    PolicyWorkspace workspace;
    Draw draw;
    Tuples tuples(n);
    for (size_t i = 0; i < n; ++i) {
      log::v1::BanditTuple& tuple = tuples[i];
      const std::string id = absl::StrCat("d", first + i);
      RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
      tuple.set_spool_writer("server");
      tuple.mutable_position()->set_segment("spool.seg");
      tuple.mutable_position()->set_offset(1000 * (first + i));
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_decision_id(id);
      decision.set_time_us(1000000 + static_cast<int64_t>(10 * (first + i)));
      decision.set_model("default");
      decision.set_version(logger.version);
      *decision.mutable_policy() = logger.policy;
      decision.set_action_kind(logger.kind);
      decision.set_can_abstain(policy.can_abstain());
      decision.set_num_candidates(kCandidates);
      decision.set_num_features(kColumns);
      decision.set_top_k(logger.top_k);
      for (uint32_t row = 0; row < kCandidates; ++row) {
        decision.add_eligible(row != i % kCandidates);
        decision.add_dense_values(static_cast<float>(random.Normal()));
        decision.add_dense_values(static_cast<float>(random.Uniform()));
        decision.add_dense_values(
            static_cast<float>(100 * (1 + random.Uniform())));
      }
      policy.Decide(
          QueryOf(decision),
          DecisionKey("default", logger.version, id, logger.draw_salt),
          &workspace, &draw);
      decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
      decision.set_log_propensity(draw.log_propensity);
      if (logger.kind == log::v1::RANK) {
        decision.mutable_conditional_log_propensities()->Assign(
            draw.conditional_log_propensities.begin(),
            draw.conditional_log_propensities.end());
      }
      if (i % 2 == 0) {
        tuple.set_has_feedback(true);
        tuple.set_reward(1);
        tuple.add_feedback()->set_feedback_id("f" + id);
      }
    }
    return tuples;
  }

  // Writes a closed segment of a sidecar with so many seconds of window.
  void Write(const Tuples& tuples, double window = 60) {
    config::v1::SidecarOptions sidecar;
    sidecar.set_tuples("t");
    sidecar.mutable_join()->set_reward_wait_time_seconds(window);
    SegmentWriter::Options options;
    options.dir = dir_.Sub("log");
    options.name = SegmentName(1000000 + segments_++, "tuples", 0);
    options.preallocate_bytes = 1 << 20;
    options.header = header_;
    options.header.set_format_version(1);
    options.header.set_writer_id("tuples");
    options.header.set_options(
        imported_with_.empty() ? sidecar.ShortDebugString() : imported_with_);
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    for (const log::v1::BanditTuple& tuple : tuples) {
      log::v1::LogRecord record;
      *record.mutable_tuple() = tuple;
      ASSERT_OK(writer->Append(record));
    }
    for (const log::v1::LogRecord& record : more_) {
      ASSERT_OK(writer->Append(record));
    }
    ASSERT_OK(writer->Close());
    path_ = options.dir + "/" + options.name;
  }

  std::vector<CheckResult> Validate() {
    options_.set_features_every(1);
    const auto result = ValidateLog({dir_ / "log"}, options_);
    EXPECT_OK(result);
    return result.ok() ? result->results : std::vector<CheckResult>();
  }

  // Returns the names of the checks that did not pass, and what they say.
  std::map<std::string, Finding> Found() {
    std::map<std::string, Finding> found;
    for (const CheckResult& result : Validate()) {
      if (result.finding.level == Level::kPass) continue;
      found.emplace(result.check, result.finding);
    }
    return found;
  }

  // Returns the first finding of a check, whether or not it passes.
  std::string TextOf(const std::string& check) {
    for (const CheckResult& result : Validate()) {
      if (result.check == check) return result.finding.text;
    }
    return "";
  }

  // Expects that `check` finds this, and no other check finds anything.
  void ExpectOnly(const std::string& check, Level level,
                  const std::string& text) {
    const auto found = Found();
    for (const auto& [name, finding] : found) {
      EXPECT_EQ(name, check) << finding.text;
    }
    ASSERT_TRUE(found.contains(check));
    EXPECT_EQ(found.at(check).level, level);
    EXPECT_THAT(found.at(check).text, testing::HasSubstr(text));
  }

  const TempDir dir_;
  config::v1::LogValidateOptions options_;
  log::v1::SegmentHeader header_ = [] {
    log::v1::SegmentHeader header;
    header.set_kind(log::v1::SegmentHeader::TUPLES);
    return header;
  }();
  std::vector<log::v1::LogRecord> more_;  // Behind the tuples of a segment.
  int64_t segments_ = 0;
  std::string imported_with_;  // Options of `log import`; empty: joined.
  std::string path_;           // The last segment.
};

}  // namespace sortition
