#pragma once
// A pipeline over a prepared spool, with its own clock.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition::testing_sidecar {

constexpr int64_t kStartUs = 1000 * kSecond;

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() : options_(Options(dir_.path())) {
    std::filesystem::create_directories(options_.spool(0));
  }

  std::unique_ptr<Pipeline> Open() {
    auto pipeline = Pipeline::Open(options_, &metrics_, clock_.Get());
    EXPECT_OK(pipeline);
    return *std::move(pipeline);
  }
  // Runs a pipeline undisturbed to the end.
  void Finish() {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    EXPECT_OK(pipeline->Close());
  }
  // Kills a pipeline after `steps`; returns false if the end came first.
  bool DieAfter(uint64_t steps) {
    const auto pipeline = Open();
    for (uint64_t i = 0; i < steps;) {
      const auto is_busy = pipeline->Poll(1);
      EXPECT_OK(is_busy);
      if (*is_busy) {
        ++i;
        continue;
      }
      if (pipeline->counts().pending == 0) return false;
      clock_.now_us += kSecond;
    }
    return true;
  }
  // Restores everything as it was before the first run.
  void StartAgain(const std::string& saved_spool) {
    std::filesystem::remove_all(options_.spool(0));
    std::filesystem::remove_all(options_.tuples());
    std::filesystem::copy(saved_spool, options_.spool(0));
    clock_.now_us = kStartUs;
  }
  static std::vector<std::string> Names(const std::string& dir) {
    auto names = ListSegments(dir);
    EXPECT_OK(names);
    return *std::move(names);
  }
  std::vector<std::string> Spool() const { return Names(options_.spool(0)); }

  const TempDir dir_{FastParent()};
  Metrics metrics_;
  FakeClock clock_{kStartUs};
  config::v1::SidecarOptions options_;
};

inline void ExpectSame(const Expected& actual, const Expected& expected) {
  EXPECT_EQ(actual.tuples, expected.tuples);
  EXPECT_EQ(actual.late, expected.late);
}

}  // namespace sortition::testing_sidecar
