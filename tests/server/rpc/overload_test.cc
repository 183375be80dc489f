// Calls that the server has no time for are refused at once and not logged.
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/v1/models.grpc.pb.h"
#include "tests/server/rpc/grpc_server_fixture.h"
#include "tests/testing/child_process.h"
#include "tests/testing/http_page.h"
#include "tests/testing/patience.h"

namespace sortition {
namespace {

using grpc::StatusCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::SizeIs;

std::string Refused(const std::string& reason) {
  return absl::StrCat("sortition_requests_refused_total{reason=\"", reason,
                      "\"}");
}

class OverloadTest : public GrpcServerTest {
 protected:
  struct Call {
    grpc::ClientContext context;
    v1::RankResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::RankResponse>> reader;
  };

  // Sends `n` calls at once and waits for them.
  std::vector<std::unique_ptr<Call>> RankAtOnce(int n) {
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < n; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.reader = ranking_->AsyncRank(&call.context, GoodRank(), &queue);
      call.reader->Finish(&call.response, &call.status, nullptr);
    }
    void* tag = nullptr;
    bool ok = false;
    for (int i = 0; i < n; ++i) queue.Next(&tag, &ok);
    return calls;
  }

  // Sends calls at once until one of them is refused for `reason`; all others
  // are answered and logged.
  void ExpectRefusal(const std::string& reason, const std::string& message) {
    size_t answered = 0;
    Call* refused = nullptr;
    std::vector<std::unique_ptr<Call>> calls;
    while (MetricSum(server_->metrics().Text(), Refused(reason)) == 0) {
      calls = RankAtOnce(200);
      for (const auto& call : calls) {
        if (call->status.ok()) {
          ++answered;
        } else {
          refused = call.get();
          EXPECT_EQ(call->status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
        }
      }
    }
    ASSERT_NE(refused, nullptr);
    EXPECT_THAT(refused->status.error_message(),
                AllOf(HasSubstr(message), HasSubstr("try again in ")));
    const auto& metadata = refused->context.GetServerTrailingMetadata();
    const auto hint = metadata.find("grpc-retry-pushback-ms");
    ASSERT_NE(hint, metadata.end());
    int milliseconds = 0;
    EXPECT_TRUE(absl::SimpleAtoi(
        absl::string_view(hint->second.data(), hint->second.size()),
        &milliseconds));
    EXPECT_GE(milliseconds, 1);
    HealthStatus health;
    EXPECT_TRUE(Health(channel_, "", &health).ok());
    // On a busy machine even a call that is alone may wait too long.
    EXPECT_TRUE(PollUntil(Patience(60), [&] {
      v1::RankResponse response;
      return Rank(GoodRank(), &response).ok();
    }));
    EXPECT_OK(server_->Drain());
    EXPECT_THAT(ReadSpool(options_.spool().dir()), SizeIs(answered + 1));
  }
};

TEST_F(OverloadTest, CallsBeyondTheLimitAreRefused) {
  options_.mutable_admission()->set_max_waiting(1);
  StartServer();
  ExpectRefusal("waiting", "admission.max_waiting = 1 ");
}

TEST_F(OverloadTest, CallsThatWouldWaitTooLongAreRefused) {
  options_.mutable_admission()->set_max_wait_seconds(0.0001);
  StartServer();
  ExpectRefusal("wait", "admission.max_wait_seconds = 0.0001");
}

// An operator who goes back to the version before must be heard.
TEST_F(OverloadTest, ControlCallsAreHeardWhileOthersAreRefused) {
  options_.mutable_admission()->set_max_wait_seconds(0.0001);
  StartServer();
  const auto models = v1::Models::NewStub(channel_);
  const auto num_refused = [&] {
    return MetricSum(server_->metrics().Text(), Refused("wait"));
  };
  int control_calls = 0;
  for (double before = -1; num_refused() < 100 || control_calls < 20;) {
    std::jthread load([&] { RankAtOnce(200); });
    while (num_refused() == before) std::this_thread::yield();
    before = num_refused();
    grpc::ClientContext list_context;
    v1::ListModelsResponse list;
    const grpc::Status listed =
        models->ListModels(&list_context, v1::ListModelsRequest(), &list);
    EXPECT_TRUE(listed.ok()) << listed.error_message();
    grpc::ClientContext reload_context;
    v1::ReloadModelsResponse reload;
    const grpc::Status reloaded = models->ReloadModels(
        &reload_context, v1::ReloadModelsRequest(), &reload);
    EXPECT_TRUE(reloaded.ok()) << reloaded.error_message();
    control_calls += 2;
  }
}

TEST_F(OverloadTest, RequestsOfTooManyBytesAreRefused) {
  options_.mutable_admission()->set_work_bytes(1024);
  StartServer();
  ExpectRefusal("bytes", "admission.work_bytes = 1024");
}

}  // namespace
}  // namespace sortition
