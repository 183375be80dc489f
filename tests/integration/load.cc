#include "tests/integration/load.h"

#include <grpcpp/create_channel.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr std::chrono::seconds kDeadline(20);

}  // namespace

v1::DecisionContext MakeContext(uint32_t num_candidates, uint32_t num_features,
                                uint32_t salt) {
  v1::DecisionContext context;
  v1::Candidates* candidates = context.mutable_candidates();
  candidates->set_num_features(num_features);
  // Features are multiples of 1/128 in [0, 1): 37 and 101 are coprime to 128.
  for (uint32_t i = 0; i < num_candidates; ++i) {
    for (uint32_t j = 0; j < num_features; ++j) {
      const uint32_t step = (37 * i + 101 * j + 11 * salt) % 128;
      candidates->mutable_dense()->add_values(static_cast<float>(step) / 128);
    }
  }
  return context;
}

std::string FeedbackId(const std::string& decision_id) {
  return absl::StrCat("feedback-", decision_id);
}

SelectLoad::SelectLoad(const Options& options) : options_(options) {
  for (int i = 0; i < options.threads; ++i) {
    threads_.emplace_back([this, i] { Run(i); });
  }
}

SelectLoad::~SelectLoad() { Stop(); }

void SelectLoad::SetAddress(const std::string& address) {
  const std::lock_guard lock(mutex_);
  options_.address = address;
  ++generation_;
  changed_.notify_all();
}

bool SelectLoad::HasSeen(uint64_t version) {
  const std::lock_guard lock(mutex_);
  return versions_.contains(version);
}

void SelectLoad::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void SelectLoad::WaitAfterFailure(uint64_t generation) {
  std::unique_lock lock(mutex_);
  // Long enough for a draining server to notice that its callers went away.
  changed_.wait_for(lock, std::chrono::milliseconds(200),
                    [&] { return stopping_ || generation_ != generation; });
}

void SelectLoad::NoteFailure(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  failures_.emplace(status.error_code(), status.error_message());
}

bool SelectLoad::Select(v1::Ranking::Stub* stub,
                        const v1::SelectRequest& request) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::SelectResponse response;
  const grpc::Status status = stub->Select(&context, request, &response);
  if (!status.ok()) {
    NoteFailure(status);
    return false;
  }
  ++num_answered_;
  const std::lock_guard lock(mutex_);
  answered_.push_back(request.context().decision_id());
  versions_.insert(response.result().model().version());
  return true;
}

bool SelectLoad::Report(v1::Ranking::Stub* stub,
                        const std::string& decision_id) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::ReportFeedbackRequest request;
  v1::Feedback& feedback = *request.add_feedback();
  feedback.set_feedback_id(FeedbackId(decision_id));
  feedback.set_decision_id(decision_id);
  feedback.set_reward(1);
  v1::ReportFeedbackResponse response;
  const grpc::Status status =
      stub->ReportFeedback(&context, request, &response);
  if (!status.ok()) {
    NoteFailure(status);
    return false;
  }
  const std::lock_guard lock(mutex_);
  reported_.push_back(feedback.feedback_id());
  return true;
}

void SelectLoad::Run(int thread_index) {
  std::unique_ptr<v1::Ranking::Stub> stub;
  v1::SelectRequest request;
  *request.mutable_context() =
      MakeContext(options_.num_candidates, options_.num_features,
                  static_cast<uint32_t>(thread_index));
  uint64_t generation = 0;
  uint64_t num_calls = 0;
  std::string to_report;  // A decision whose feedback is due.
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (generation != generation_) {
        generation = generation_;
        stub = v1::Ranking::NewStub(grpc::CreateChannel(
            options_.address, grpc::InsecureChannelCredentials()));
      }
    }
    if (!to_report.empty()) {
      if (!Report(stub.get(), to_report)) {
        WaitAfterFailure(generation);
        continue;
      }
      to_report.clear();
    }
    const std::string id =
        absl::StrCat(options_.id_prefix, "-", thread_index, "-", num_calls++);
    request.mutable_context()->set_decision_id(id);
    if (!Select(stub.get(), request)) {
      WaitAfterFailure(generation);
    } else if (options_.has_feedback && num_calls % 2 == 0) {
      to_report = id;
    }
  }
}

}  // namespace sortition
