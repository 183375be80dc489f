#include "tests/integration/versions/version_ledger.h"

#include <grpcpp/create_channel.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/choices/traffic_split.h"
#include "gtest/gtest.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"

namespace sortition {

void VersionLedger::Begin() {
  const std::lock_guard lock(mutex_);
  begin_ = SteadyNanos();
}

void VersionLedger::End(const model::v1::Serving& serving, uint64_t version) {
  const std::lock_guard lock(mutex_);
  states_.push_back({serving, version, begin_, SteadyNanos()});
}

uint64_t VersionLedger::VersionOf(const State& state, const Request& request) {
  if (!request.label.empty()) {
    for (const auto& label : state.serving.labels()) {
      if (label.name() == request.label) return label.version();
    }
    return 0;
  }
  const model::v1::Split& split = state.serving.split();
  const uint32_t place =
      SplitPlace("default", split.salt(), request.unit_id, request.decision_id);
  for (const auto& arm : split.arms()) {
    for (const auto& range : arm.ranges()) {
      if (range.begin() <= place && place < range.end()) return arm.version();
    }
  }
  return state.version;
}

bool VersionLedger::WasToServe(const Request& request, uint64_t version,
                               int64_t start, int64_t end) const {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < states_.size(); ++i) {
    if (states_[i].begin > end) break;
    const bool is_over =
        i + 1 < states_.size() && states_[i + 1].in_force < start;
    if (!is_over && VersionOf(states_[i], request) == version) return true;
  }
  return false;
}

VersionLoad::VersionLoad(const std::string& address, int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, address, i] { Run(address, i); });
  }
}

void VersionLoad::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void VersionLoad::Run(const std::string& address, int thread_index) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel = grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments);
  // gRPC 1.51 reads errno after it has allocated memory: where there is no
  // /sys, the first attempt to connect can fail with "No such file".
  EXPECT_TRUE(channel->WaitForConnected(
      std::chrono::system_clock::now() +
      std::chrono::seconds(static_cast<int64_t>(kPatienceSeconds))));
  const auto stub = v1::Ranking::NewStub(channel);
  v1::SelectRequest request;
  *request.mutable_context() =
      MakeContext(5, 8, static_cast<uint32_t>(thread_index));
  std::vector<Answer> answers;
  std::map<std::string, int> failures;
  for (uint64_t call = 0; !stopping_; ++call) {
    Answer answer;
    answer.request.decision_id = absl::StrCat(thread_index, "-", call);
    if (call % 3 == 0) answer.request.unit_id = absl::StrCat("u", call % 64);
    if (call % 3 == 1) answer.request.label = "stable";
    request.mutable_context()->set_decision_id(answer.request.decision_id);
    request.mutable_context()->set_unit_id(answer.request.unit_id);
    request.mutable_context()->set_label(answer.request.label);
    grpc::ClientContext context;
    v1::SelectResponse response;
    answer.start = SteadyNanos();
    const grpc::Status status = stub->Select(&context, request, &response);
    answer.end = SteadyNanos();
    if (!status.ok()) {
      ++failures[status.error_message()];
      continue;
    }
    answer.version = response.result().model().version();
    answers.push_back(std::move(answer));
    ++num_answered_;
  }
  const std::lock_guard lock(mutex_);
  answers_.insert(answers_.end(), answers.begin(), answers.end());
  for (const auto& [message, count] : failures) failures_[message] += count;
}

}  // namespace sortition
