#include "process/service/service.h"

#include <sys/resource.h>

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/command.h"
#include "sortition/config/v1/server.pb.h"
#include "tests/testing/captured_log.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

class ServiceTest : public testing::Test {
 protected:
  int Run(const std::vector<std::string>& arguments) {
    options_.Clear();
    testing::internal::CaptureStdout();
    CaptureLog();
    const int exit_code = RunService({.name = "program",
                                      .help = "usage: program\n",
                                      .validate = [this] { return valid_; },
                                      .check = [this] { return findings_; },
                                      .run =
                                          [this] {
                                            ++num_runs_;
                                            return status_;
                                          }},
                                     arguments, &options_);
    out_ = testing::internal::GetCapturedStdout();
    error_ = CapturedLog();
    return exit_code;
  }

  config::v1::ServerOptions options_;
  absl::Status valid_;
  std::vector<std::string> findings_;
  absl::Status status_;
  int num_runs_ = 0;
  std::string out_;
  std::string error_;
};

TEST_F(ServiceTest, RunsWithTheOptions) {
  EXPECT_EQ(Run({"--model_store=/m", "--threads=3"}), kExitOk);
  EXPECT_EQ(num_runs_, 1);
  EXPECT_EQ(options_.threads(), 3u);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(error_, IsEmpty());
}

TEST_F(ServiceTest, AFailureIsALogLine) {
  status_ = absl::UnavailableError("listen = \"x\": taken");
  EXPECT_EQ(Run({"--model_store=/m"}), kExitError);
  EXPECT_THAT(error_,
              MatchesRegex("\\{\"time\":\"[^\"]*\",\"level\":\"error\","
                           "\"message\":\"failed\",\"program\":\"program\","
                           "\"code\":\"UNAVAILABLE\","
                           "\"error\":\"listen = ..x..: taken\"\\}\n"));
}

TEST_F(ServiceTest, AWrongOptionIsALogLineAndAnotherExitCode) {
  EXPECT_EQ(Run({"--model_store=/m", "--thread=3"}), kExitUsage);
  EXPECT_THAT(error_, AllOf(StartsWith("{\"time\":"),
                            HasSubstr("\"message\":\"called wrongly\""),
                            HasSubstr("did you mean --threads?")));
  EXPECT_EQ(Run({"--model_store=/m", "rest"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("rest"));
  EXPECT_EQ(Run({}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("model_store"));
  EXPECT_EQ(num_runs_, 0);
}

TEST_F(ServiceTest, OptionsThatContradictEachOtherAreAWrongCall) {
  valid_ = absl::InvalidArgumentError("a = 1: must be below b");
  EXPECT_EQ(Run({"--model_store=/m"}), kExitUsage);
  EXPECT_THAT(error_, AllOf(HasSubstr("\"message\":\"called wrongly\""),
                            HasSubstr("a = 1: must be below b")));
  EXPECT_EQ(num_runs_, 0);
  EXPECT_EQ(Run({"--model_store=/m", "--version"}), kExitOk);
}

TEST_F(ServiceTest, RunsWithAllTheDescriptorsThatItMayHave) {
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = before.rlim_max / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(Run({"--model_store=/m"}), kExitOk);
  rlimit raised = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(ServiceTest, HelpNamesExitCodesAndTheFlagsOfAllPrograms) {
  EXPECT_EQ(Run({"--help"}), kExitOk);
  EXPECT_THAT(out_, AllOf(StartsWith("usage: program\n"),
                          HasSubstr("--model_store"), HasSubstr(kExitCodes),
                          HasSubstr("--check_config"), HasSubstr("--version")));
  EXPECT_EQ(num_runs_, 0);
}

TEST_F(ServiceTest, VersionNeedsNoOption) {
  EXPECT_EQ(Run({"--version"}), kExitOk);
  EXPECT_THAT(out_, AllOf(StartsWith("program "), HasSubstr("\ncommit: "),
                          HasSubstr("\nbuild: "), HasSubstr("\nlibraries: "),
                          HasSubstr("gRPC 1."), HasSubstr("Protobuf 3.")));
  EXPECT_EQ(num_runs_, 0);
}

TEST_F(ServiceTest, CheckPrintsALinePerFindingAndRunsNothing) {
  EXPECT_EQ(Run({"--check_config", "--model_store=/m"}), kExitOk);
  EXPECT_THAT(out_, IsEmpty());
  findings_ = {"a = 1: must be 2", "b"};
  EXPECT_EQ(Run({"--model_store=/m", "--check_config"}), kExitUsage);
  EXPECT_EQ(out_, "a = 1: must be 2\nb\n");
  // Without readable options there is nothing to check further.
  EXPECT_EQ(Run({"--check_config", "--model_store=/m", "--threads=300"}),
            kExitUsage);
  EXPECT_THAT(out_, AllOf(HasSubstr("[1, 256]"), Not(HasSubstr("must be 2"))));
  EXPECT_EQ(num_runs_, 0);
}

TEST_F(ServiceTest, WhatComesBehindTwoDashesIsNoFlag) {
  EXPECT_EQ(Run({"--model_store=/m", "--", "--version"}), kExitUsage);
  EXPECT_THAT(error_, HasSubstr("--version"));
}

}  // namespace
}  // namespace sortition
