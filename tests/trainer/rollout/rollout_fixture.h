#pragma once
// A store with two versions, and what is logged while one takes over.
#include <filesystem>

#include "core/base/hash.h"
#include "core/choices/traffic_split.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/models/serving_state.h"
#include "sortition/config/v1/rollout.pb.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/rollout/rollout.h"
#include "trainer/rollout/rollout_file.h"

namespace sortition {

// What the versions earn: probabilities of reward 1.
struct Earnings {
  double canary = 0.5;
  double stable = 0.5;
};

// Which units come to the canary depends on a random salt: numbers differ a
// little from run to run.
class RolloutFixture : public testing::Test {
 protected:
  RolloutFixture() {
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_tuples(dir_.Sub("tuples"));
    config::v1::RolloutPlan& plan = *options_.mutable_plan();
    for (const double share : {0.1, 0.5}) plan.add_shares(share);
    for (const double margin : {0.3, 0.2}) plan.add_margins(margin);
    plan.set_min_decisions(100);
    plan.set_min_seconds(0);
    plan.set_unit_window_seconds(0);
  }

  std::string ModelDir() const { return dir_.path() + "/models/default"; }

  model::v1::Serving NowServing() {
    auto serving = ReadServing(ModelDir());
    EXPECT_OK(serving);
    return *serving;
  }

  model::v1::Rollout NowRollout() {
    auto rollout = ReadRollout(ModelDir());
    EXPECT_OK(rollout);
    return rollout->value_or(model::v1::Rollout());
  }

  absl::StatusOr<config::v1::RolloutReport> Start(uint64_t version = 2) {
    config::v1::RolloutOptions options = options_;
    options.set_start(true);
    options.set_version(version);
    return StartRollout(options);
  }

  // Returns what servers log of `n` new units under the split in force.
  std::vector<log::v1::BanditTuple> MakeUnits(int n, const Earnings& earnings) {
    const model::v1::Serving serving = NowServing();
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < n; ++i) {
      const std::string id = absl::StrCat("unit-", next_unit_++);
      log::v1::BanditTuple& tuple = tuples.emplace_back();
      log::v1::Decision& decision = *tuple.mutable_decision();
      decision.set_decision_id("decision-" + id);
      decision.set_unit_id(id);
      decision.set_model("default");
      decision.set_time_us(first_us_ + static_cast<int64_t>(next_unit_) * 1000);
      const uint32_t place =
          SplitPlace("default", serving.split().salt(), id, "");
      const int arm = ArmAt(serving.split(), place);
      decision.set_version(arm < 0 ? serving.pinned_version()
                                   : serving.split().arms(arm).version());
      *decision.mutable_arm()->mutable_split() = serving.split();
      decision.mutable_arm()->set_primary_version(serving.pinned_version());
      RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
      tuple.set_reward(
          random.Uniform() < (arm < 0 ? earnings.stable : earnings.canary) ? 1
                                                                           : 0);
      tuple.set_has_feedback(true);
    }
    return tuples;
  }

  void Log(int n, const Earnings& earnings) {
    WriteSegment(dir_.Sub("tuples"), next_segment_++, MakeUnits(n, earnings));
  }

  // A segment that was created after the rollout began, whose sidecar had
  // written others before.
  void WriteNewSegment(const std::string& directory,
                       const std::vector<log::v1::BanditTuple>& tuples) {
    SegmentWriter::Options options;
    options.dir = dir_.Sub(directory);
    const int64_t created_us = NowUs();
    options.name = SegmentName(created_us, "test", ++next_segment_);
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    options.header.set_writer_id("test");
    options.header.set_created_time_us(created_us);
    options.header.mutable_resume()->set_segment("0-server-0.seg");
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    for (const log::v1::BanditTuple& tuple : tuples) {
      log::v1::LogRecord record;
      *record.mutable_tuple() = tuple;
      ASSERT_OK(writer->Append(record));
    }
    ASSERT_OK(writer->Close());
  }

  // Units whose decisions were made after the rollout began.
  std::vector<log::v1::BanditTuple> MakeNewUnits(int n) {
    auto tuples = MakeUnits(n, {});
    for (log::v1::BanditTuple& tuple : tuples) {
      tuple.mutable_decision()->set_time_us(NowUs());
    }
    return tuples;
  }

  config::v1::RolloutReport Step() {
    auto report = StepRollout(options_);
    EXPECT_OK(report);
    return report.ok() ? *report : config::v1::RolloutReport();
  }

  void RemoveTuples() {
    for (const auto& entry :
         std::filesystem::directory_iterator(dir_.Sub("tuples"))) {
      std::filesystem::remove(entry.path());
    }
  }

  // Ends the rollout, and begins another one by options_.
  void StartAgain() {
    options_.set_reason("another one begins");
    ASSERT_OK(StopRollout(options_));
    ASSERT_OK(ChangeServing(ModelDir(), {"again", "test"},
                            [](model::v1::Serving* state) {
                              state->clear_split();
                              return absl::OkStatus();
                            }));
    ASSERT_OK(Start());
  }

  // Adds a guardrail of complaints, of which 5 % more are allowed, to the plan
  // of options_. Returns its file.
  std::string AddGuardrail(const std::string& name) {
    config::v1::RolloutPlan& plan = *options_.mutable_plan();
    std::string file = absl::StrCat(dir_.path(), "/", name, ".csv");
    plan.add_rewards(absl::StrCat(name, "=", file, "@horizon=0s@sparse"));
    plan.add_guardrails(name + ":0.05");
    plan.add_reward_ranges(name + ":-1:0");
    return file;
  }

  // The line of a file that has all outcomes up to then.
  static std::string ThroughLine(absl::Time through) {
    return absl::StrCat(
        "# through=",
        absl::FormatTime(absl::RFC3339_full, through, absl::UTCTimeZone()),
        "\n");
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::RolloutOptions options_;
  const int64_t first_us_ = NowUs() - 3'600'000'000;
  uint64_t next_unit_ = 0;
  uint64_t next_segment_ = 0;
};

}  // namespace sortition
