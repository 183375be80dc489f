#pragma once
// A server and a sidecar that a Prometheus watches, and the load on them.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/rpc/client.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/training_runs.h"
#include "tests/deploy/monitoring/prometheus_server.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/nats_server.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// Does something again and again, with a pause between, until it is destroyed.
class Repeating {
 public:
  explicit Repeating(
      std::function<void(uint64_t i)> work,
      std::chrono::milliseconds pause = std::chrono::milliseconds(4))
      : pause_(pause), thread_([this, work = std::move(work)] {
          for (uint64_t i = 0; IsWanted(); ++i) work(i);
        }) {}
  ~Repeating() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    over_.notify_all();
    thread_.join();
  }

 private:
  bool IsWanted() {
    std::unique_lock lock(mutex_);
    return !over_.wait_for(lock, pause_, [&] { return is_over_; });
  }

  const std::chrono::milliseconds pause_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;  // Last: it uses the others.
};

class MonitoredTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_PROMETHEUS();
    // Tuples that nothing learns from would be an alert.
    model::v1::TrainingRun run;
    run.set_kind("train");
    run.set_outcome(model::v1::TrainingRun::DONE);
    EXPECT_OK(WriteTrainingRun(deployment_.models(), "default", run));
  }

  // Both keep their ports, so that their series go on after a restart.
  void StartServer(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(),
                 {"--poll_seconds=0.05", "--spool.sync_interval_seconds=0.2",
                  absl::StrCat("--metrics_listen=127.0.0.1:", server_port_)});
    ASSERT_OK(deployment_.StartServer(flags));
    ASSERT_OK_AND_ASSIGN(
        client_, Client::Connect(deployment_.address(), {.max_attempts = 1}));
  }
  void StartSidecar(std::vector<std::string> flags = {}) {
    flags.insert(flags.end(),
                 {"--sync_interval_seconds=0.2", "--segment_seconds=0.3",
                  absl::StrCat("--metrics_listen=127.0.0.1:", sidecar_port_)});
    ASSERT_OK(deployment_.StartSidecar(flags));
  }

  // `more`: what it scrapes besides the server and, if there is one, the
  // sidecar.
  void StartPrometheus(bool has_sidecar,
                       const std::vector<ScrapeTarget>& more = {}) {
    std::vector<ScrapeTarget> targets = {
        {"sortition-server", "server", server_port_}};
    if (has_sidecar) {
      targets.push_back({"sortition-sidecar", "sidecar", sidecar_port_});
    }
    targets.insert(targets.end(), more.begin(), more.end());
    // Without a sidecar there is nothing that reads the log.
    if (!has_sidecar && more.empty()) expected_.insert("SortitionTargetGone");
    ASSERT_OK_AND_ASSIGN(const std::string alerts, ShortAlerts());
    ASSERT_OK_AND_ASSIGN(prometheus_,
                         PrometheusServer::Start(deployment_.path("prometheus"),
                                                 targets, alerts));
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto up = prometheus_->Query("up == 1");
      return up.ok() && up->size() == targets.size();
    }));
  }

  std::set<std::string> Firing() const {
    auto firing =
        prometheus_->Firing().value_or(std::set<std::string>{"unknown"});
    std::erase_if(firing,
                  [&](const auto& name) { return expected_.contains(name); });
    return firing;
  }
  // Each of them, at whatever time.
  void ExpectFire(const std::set<std::string>& alerts) {
    std::set<std::string> missing = alerts;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] {
                            for (const std::string& name : Firing())
                              missing.erase(name);
                            return missing.empty();
                          }))
        << "do not fire: " << absl::StrJoin(missing, ", ");
  }
  void ExpectClear(const std::set<std::string>& alerts) {
    std::set<std::string> firing;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] {
                            firing = Firing();
                            std::erase_if(firing, [&](const auto& name) {
                              return name != "unknown" &&
                                     !alerts.contains(name);
                            });
                            return firing.empty();
                          }))
        << "still fire: " << absl::StrJoin(firing, ", ");
  }
  // None fires, whatever its name.
  void ExpectQuiet() {
    std::set<std::string> firing;
    EXPECT_TRUE(PollUntil(kPatienceSeconds,
                          [&] {
                            firing = Firing();
                            return firing.empty();
                          }))
        << "still fire: " << absl::StrJoin(firing, ", ");
  }

  // Selects among candidates that differ from call to call, under an id that
  // ends with `i`. Returns the version that decided; 0 where none did.
  uint64_t Select(uint64_t i, uint32_t num_candidates, uint32_t num_features) {
    v1::SelectRequest request;
    *request.mutable_context() =
        MakeContext(num_candidates, num_features, static_cast<uint32_t>(i));
    request.mutable_context()->set_decision_id(IdOf(i));
    const auto answer = client_->Select(request);
    return answer.ok() ? answer->result().model().version() : 0;
  }
  // Reports a reward of the decision `i`; the server may refuse it.
  void Report(uint64_t i, double reward) {
    v1::ReportFeedbackRequest request;
    v1::Feedback& feedback = *request.add_feedback();
    feedback.set_feedback_id(FeedbackId(IdOf(i)));
    feedback.set_decision_id(IdOf(i));
    feedback.set_reward(reward);
    client_->ReportFeedback(request).IgnoreError();
  }
  static std::string IdOf(uint64_t i) { return absl::StrCat("decision-", i); }

  void Publish(const model::v1::Model& model) {
    EXPECT_OK(deployment_.store().Publish(model, nullptr, {}));
  }

  Deployment deployment_;
  const int server_port_ = FreePort();
  const int sidecar_port_ = FreePort();
  std::unique_ptr<Client> client_;
  std::unique_ptr<PrometheusServer> prometheus_;
  std::set<std::string> expected_;  // Fire all the time, because of the test.
};

}  // namespace sortition
