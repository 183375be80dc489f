// Hours of work in small: memory and descriptors of server and sidecar stay
// where they are.
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/rpc/client.h"
#include "gtest/gtest.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/integration/process_memory.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// 30 minutes; SORTITION_SOAK_SECONDS says otherwise.
double SoakSeconds() {
  const char* const seconds = std::getenv("SORTITION_SOAK_SECONDS");
  return seconds == nullptr ? 1800 : std::atof(seconds);
}

// What a process has now.
struct Usage {
  uint64_t anonymous_bytes = 0;  // Without mapped files, as the spool's are.
  uint64_t descriptors = 0;
};

Usage UsageOf(pid_t pid) {
  Usage usage = {.anonymous_bytes = AnonymousBytes(pid)};
  std::error_code error;
  using Iterator = std::filesystem::directory_iterator;
  usage.descriptors = static_cast<uint64_t>(std::distance(
      Iterator(absl::StrCat("/proc/", pid, "/fd"), error), Iterator()));
  return usage;
}

// The medians over a part of the samples, so that a moment does not decide.
Usage MedianOf(std::vector<Usage> samples) {
  const auto median = [&](uint64_t Usage::*field) {
    const auto middle =
        samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(
        samples.begin(), middle, samples.end(),
        [&](const Usage& a, const Usage& b) { return a.*field < b.*field; });
    return (*middle).*field;
  };
  return {median(&Usage::anonymous_bytes), median(&Usage::descriptors)};
}

// Compares the last quarter with the second: the first warms up.
void ExpectFlat(const char* name, const std::vector<Usage>& samples) {
  ASSERT_GE(samples.size(), 16u);
  const auto at = [&](size_t quarter) {
    return samples.begin() +
           static_cast<std::ptrdiff_t>(samples.size() * quarter / 4);
  };
  const Usage early = MedianOf({at(1), at(2)});
  const Usage late = MedianOf({at(3), at(4)});
  std::cout << absl::StrFormat(
      "%s: %.1f MiB and %d descriptors, then %.1f MiB and %d\n", name,
      static_cast<double>(early.anonymous_bytes) / (1 << 20), early.descriptors,
      static_cast<double>(late.anonymous_bytes) / (1 << 20), late.descriptors);
  EXPECT_LE(static_cast<double>(late.anonymous_bytes),
            1.05 * static_cast<double>(early.anonymous_bytes));
  EXPECT_LE(static_cast<double>(late.descriptors),
            1.05 * static_cast<double>(early.descriptors));
}

class SoakTest : public testing::Test {
 protected:
  // Asks as fast as a few users do, over connections that come and go, for what
  // is answered and for what is refused.
  void Load(int thread_index) {
    std::unique_ptr<Client> client;
    auto next = Clock::now();
    for (uint32_t i = 0; !stop_; ++i) {
      next += std::chrono::milliseconds(4);
      std::this_thread::sleep_until(next);
      if (i % 2000 == 0) client = Connect();
      v1::SelectRequest request;
      *request.mutable_context() =
          MakeContext(1 + i % 50, 8, static_cast<uint32_t>(thread_index));
      if (i % 10 == 9) request.mutable_context()->set_model("none");
      const auto answer = client->Select(request);
      ++(answer.ok() == (i % 10 != 9) ? expected_ : unexpected_);
      if (!answer.ok() || i % 2 == 0) continue;
      v1::ReportFeedbackRequest report;
      v1::Feedback& feedback = *report.add_feedback();
      feedback.set_decision_id(answer->result().decision_id());
      feedback.set_reward(1);
      ++(client->ReportFeedback(report).ok() ? expected_ : unexpected_);
    }
  }

  std::unique_ptr<Client> Connect() const {
    auto client = Client::Connect(
        deployment_.address(),
        {.deadline_seconds = kPatienceSeconds, .max_attempts = 1});
    EXPECT_OK(client);
    return client.ok() ? *std::move(client) : nullptr;
  }

  void Publish() {
    ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  }

  Deployment deployment_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> expected_{0};
  std::atomic<uint64_t> unexpected_{0};
};

TEST_F(SoakTest, MemoryAndDescriptorsStayFlat) {
  if (!IsLongRun())
    GTEST_SKIP() << "skipped: takes half an hour; ./dev test --long";
  Publish();
  ASSERT_OK(deployment_.StartServer({"--spool.segment_seconds=2"}));
  ASSERT_OK(deployment_.StartSidecar({JoinWindow(2), "--segment_seconds=5"}));
  std::vector<std::jthread> load;
  for (int i = 0; i < 4; ++i) {
    load.emplace_back([this, i] { Load(i); });
  }
  constexpr int kSamples = 200;
  constexpr int kSamplesPerVersion = 10;
  const auto start = Clock::now();
  std::vector<Usage> server;
  std::vector<Usage> sidecar;
  for (int i = 1; i <= kSamples; ++i) {
    std::this_thread::sleep_until(
        start +
        std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(SoakSeconds() * i / kSamples)));
    server.push_back(UsageOf(deployment_.server().pid()));
    sidecar.push_back(UsageOf(deployment_.sidecar().pid()));
    EXPECT_OK(deployment_.ServerMetrics());
    if (i % kSamplesPerVersion == 0) Publish();
  }
  stop_ = true;
  load.clear();
  std::cout << expected_ << " calls as expected\n";
  EXPECT_EQ(unexpected_, 0u);
  EXPECT_GT(expected_, 0u);
  ExpectFlat("server", server);
  ExpectFlat("sidecar", sidecar);
}

}  // namespace
}  // namespace sortition
