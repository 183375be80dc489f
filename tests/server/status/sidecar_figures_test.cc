#include "server/status/sidecar_figures.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/clocks.h"
#include "process/status/status_text.h"
#include "tests/process/http/hostile_peer.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

status::v1::Status FillAt(const SidecarFigures& figures, int64_t steady_us) {
  status::v1::Status status;
  figures.Fill(steady_us, &status);
  return status;
}

TEST(SidecarFiguresTest, ShowsTheLastAnswerWhileItIsFresh) {
  SidecarFigures figures("there:1");
  EXPECT_EQ(FillAt(figures, 0).sidecar_problem(), "not asked yet");
  status::v1::Sidecar sidecar;
  sidecar.set_pending(7);
  figures.Take(sidecar, 1000);
  figures.Take(absl::UnavailableError("there:1: away"), 2000);
  const status::v1::Status fresh =
      FillAt(figures, 1000 + SidecarFigures::kOldestUs);
  EXPECT_EQ(fresh.sidecar().pending(), 7u);
  EXPECT_EQ(fresh.sidecar_problem(), "");
  const status::v1::Status old =
      FillAt(figures, 1001 + SidecarFigures::kOldestUs);
  EXPECT_FALSE(old.has_sidecar());
  EXPECT_EQ(old.sidecar_problem(), "there:1: away");
}

TEST(SidecarFiguresTest, SaysNothingWhereNoneIsNamed) {
  SidecarFigures figures("");
  figures.Ask(SteadyUs);
  EXPECT_EQ(FillAt(figures, 0).ByteSizeLong(), 0u);
}

TEST(SidecarFiguresTest, AsksForAStatusWithoutHistory) {
  status::v1::Status status;
  status.mutable_process()->set_role("sidecar");
  status.mutable_sidecar()->set_tuples(12);
  status.mutable_sidecar()->add_worths()->set_model("m");
  const std::string json = StatusJson(status);
  std::string request;
  {
    HostilePeer peer([&](int fd) {
      request = HostilePeer::ReadRequest(fd);
      HostilePeer::Send(fd, absl::StrCat("HTTP/1.1 200 OK\r\nContent-Length: ",
                                         json.size(), "\r\n\r\n", json));
    });
    SidecarFigures figures(peer.address());
    figures.Ask(SteadyUs);
    const status::v1::Status filled = FillAt(figures, SteadyUs());
    EXPECT_EQ(filled.sidecar().tuples(), 12u);
    EXPECT_EQ(filled.sidecar().worths(0).model(), "m");
  }
  EXPECT_THAT(request, HasSubstr("GET /status.json?history=0 "));
}

TEST(SidecarFiguresTest, SaysWhyThereIsNoAnswer) {
  HostilePeer peer([](int fd) {
    HostilePeer::ReadRequest(fd);
    HostilePeer::Send(fd, "HTTP/1.1 200 OK\r\n\r\n\xff not JSON");
  });
  SidecarFigures figures(peer.address());
  figures.Ask(SteadyUs);
  EXPECT_THAT(FillAt(figures, SteadyUs()).sidecar_problem(),
              HasSubstr("the answer is not that of a sidecar"));
}

TEST(SidecarFiguresTest, RefusesWhatNoSidecarSays) {
  const auto code = [](const std::string& json) {
    return ParseSidecar(json).status().code();
  };
  EXPECT_OK(
      ParseSidecar("{\"process\":{\"role\":\"sidecar\"}, \"sidecar\":{}, "
                   "\"field of tomorrow\":[1]}"));
  EXPECT_EQ(code(""), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("[]"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("{}"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("{\"server\":{}}"), StatusCode::kInvalidArgument);
  EXPECT_EQ(code("{\"sidecar\":{\"pending\":\"x\"}}"),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(code(std::string(100000, '[')), StatusCode::kInvalidArgument);
  std::string deep = "{\"sidecar\":{\"x\":";
  for (int i = 0; i < 100000; ++i) deep += "{\"a\":";
  EXPECT_EQ(code(deep), StatusCode::kInvalidArgument);
  status::v1::Status many;
  many.mutable_process()->set_role("sidecar");
  for (int i = 0; i < 257; ++i) many.mutable_sidecar()->add_worths();
  EXPECT_EQ(code(StatusJson(many)), StatusCode::kInvalidArgument);
  many.mutable_sidecar()->mutable_worths()->RemoveLast();
  EXPECT_OK(ParseSidecar(StatusJson(many)));
  auto* const worth = many.mutable_sidecar()->mutable_worths(0);
  for (int i = 0; i < 65; ++i) worth->mutable_propensities()->add_bounds(i);
  EXPECT_EQ(code(StatusJson(many)), StatusCode::kInvalidArgument);
  worth->Clear();
  worth->set_model(std::string(1001, 'm'));
  EXPECT_EQ(code(StatusJson(many)), StatusCode::kInvalidArgument);
}

// Which shows a sidecar of its own.
TEST(SidecarFiguresTest, AServerIsNoSidecar) {
  status::v1::Status status;
  status.mutable_process()->set_role("server");
  status.mutable_sidecar()->set_pending(7);
  EXPECT_THAT(std::string(ParseSidecar(StatusJson(status)).status().message()),
              HasSubstr("process.role = \"server\": must be \"sidecar\""));
}

TEST(SidecarFiguresTest, RefusesNumbersThatNoSidecarHas) {
  status::v1::Status status;
  status.mutable_process()->set_role("sidecar");
  status::v1::Worth& worth = *status.mutable_sidecar()->add_worths();
  const auto problem = [&status] {
    return std::string(ParseSidecar(StatusJson(status)).status().message());
  };
  worth.set_mean_entropy(std::nan(""));  // Not known.
  EXPECT_EQ(problem(), "");
  worth.mutable_reward()->set_lower(1);
  EXPECT_THAT(problem(), HasSubstr("sidecar.worths.reward"));
  worth.mutable_reward()->set_upper(2);
  EXPECT_EQ(problem(), "");
  worth.mutable_reward()->set_value(HUGE_VAL);
  EXPECT_THAT(problem(), HasSubstr("sidecar.worths.reward"));
  worth.clear_reward();
  worth.set_effective_sample_size(std::nan(""));
  EXPECT_THAT(problem(), HasSubstr("sidecar.worths.effective_sample_size"));
  worth.set_effective_sample_size(1);
  worth.set_mean_entropy(HUGE_VAL);
  EXPECT_THAT(problem(), HasSubstr("sidecar.worths.mean_entropy"));
  worth.set_mean_entropy(0);
  status.mutable_sidecar()->set_mean_reward_wait_seconds(HUGE_VAL);
  EXPECT_THAT(problem(), HasSubstr("sidecar.mean_reward_wait_seconds"));
}

}  // namespace
}  // namespace sortition
