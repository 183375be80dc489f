#include "tests/integration/load.h"

#include <grpcpp/create_channel.h>

#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {

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

void SelectLoad::Run(int thread_index) {
  std::unique_ptr<v1::Ranking::Stub> stub;
  v1::SelectRequest request;
  *request.mutable_context() =
      MakeContext(options_.num_candidates, options_.num_features,
                  static_cast<uint32_t>(thread_index));
  uint64_t generation = 0;
  for (uint64_t call = 0;; ++call) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      if (generation != generation_) {
        generation = generation_;
        stub = v1::Ranking::NewStub(grpc::CreateChannel(
            options_.address, grpc::InsecureChannelCredentials()));
      }
    }
    const std::string id =
        absl::StrCat(options_.id_prefix, "-", thread_index, "-", call);
    request.mutable_context()->set_decision_id(id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(20));
    v1::SelectResponse response;
    const grpc::Status status = stub->Select(&context, request, &response);
    if (status.ok()) {
      ++num_answered_;
      const std::lock_guard lock(mutex_);
      answered_.push_back(id);
      versions_.insert(response.result().model().version());
    } else {
      {
        const std::lock_guard lock(mutex_);
        failures_.emplace(status.error_code(), status.error_message());
      }
      WaitAfterFailure(generation);
    }
  }
}

}  // namespace sortition
