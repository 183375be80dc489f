#pragma once
// Random histories that are read by pipelines that die.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/sidecar/join_reference.h"
#include "tests/sidecar/pipeline_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/patience.h"

namespace sortition::testing_sidecar {

// Returns how many histories a test tries.
inline uint32_t NumSeeds(uint32_t usual, uint32_t many) {
  return IsLongRun() ? many : usual;
}

class ReferenceTest : public PipelineTest {
 protected:
  // Starts with an empty directory of tuples.
  void BeginOutput(uint32_t seed) {
    random_.seed(seed);
    std::filesystem::remove_all(options_.tuples());
    disk_.emplace(options_.tuples());
    options_.mutable_join()->set_default_reward(-7);
    index_.clear();
    num_written_ = 0;
    now_us_ = 0;
  }

  // Lets the clock show a time, at random up to the latest one, at which none
  // of the `events` to come is more than the slack late, less `margin_us`.
  void MoveClock(const std::vector<JoinEvent>& events, int64_t margin_us) {
    int64_t earliest_us = events.back().time_us;
    for (size_t i = num_written_; i < events.size(); ++i) {
      earliest_us = std::min(earliest_us, events[i].time_us);
    }
    const int64_t lag_us = static_cast<int64_t>(random_() % 3) * kSecond / 2;
    now_us_ = std::max(now_us_, earliest_us + lag_us - margin_us);
  }

  // Starts pipelines that die after a few steps, then one that reads all.
  void DieAndRead(std::unique_ptr<Pipeline>* pipeline) {
    for (uint64_t deaths = random_() % 3; deaths > 0; --deaths) {
      pipeline->reset();
      if (random_() % 2 == 0) CutPower();
      *pipeline = OpenNow();
      EXPECT_OK((*pipeline)->Poll(random_() % 60));
    }
    if (*pipeline == nullptr) *pipeline = OpenNow();
    bool is_busy = true;
    while (is_busy) {
      const absl::StatusOr<bool> polled = (*pipeline)->Poll(1 + random_() % 9);
      ASSERT_OK(polled);
      is_busy = *polled;
    }
  }

  // Returns the number of the event that is there; that of no event if none is.
  size_t IndexOf(const log::v1::SpoolPosition& position) const {
    const auto it = index_.find({position.segment(), position.offset()});
    return it == index_.end() ? num_written_ : it->second;
  }

  std::mt19937 random_;
  int64_t now_us_ = 0;
  size_t num_written_ = 0;
  std::map<std::pair<std::string, uint64_t>, size_t> index_;  // By place.

 private:
  std::unique_ptr<Pipeline> OpenNow() {
    auto pipeline =
        Pipeline::Open(options_, &metrics_, [this] { return now_us_; });
    EXPECT_OK(pipeline);
    return *std::move(pipeline);
  }

  // The kernel has brought some of the outputs to the disk, and others not.
  void CutPower() {
    for (const char* dir : {"", "/late"}) {
      const std::string path = options_.tuples() + dir;
      if (!std::filesystem::exists(path)) continue;
      disk_->CutPower(
          path, [this](const std::string&) { return random_() % 2 == 0; });
    }
  }

  std::optional<FakeDisk> disk_;
};

}  // namespace sortition::testing_sidecar
