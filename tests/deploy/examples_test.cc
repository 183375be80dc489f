// The example configurations are what the programs of today accept.
#include <string>

#include "gtest/gtest.h"
#include "process/options.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/config/v1/trainer.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Options as a process gets them that is started with --config=NAME alone.
template <typename Options>
Options ParseExample(const std::string& name) {
  Options options;
  CommandLine command_line;
  EXPECT_OK(
      ParseOptions({"--config=" + std::string(SORTITION_EXAMPLES) + "/" + name},
                   &options, &command_line));
  return options;
}

TEST(ExamplesTest, AreCompleteAndLeadFromOneProcessToTheNext) {
  const auto server =
      ParseExample<config::v1::ServerOptions>("server.textproto");
  const auto sidecar =
      ParseExample<config::v1::SidecarOptions>("sidecar.textproto");
  const auto trainer =
      ParseExample<config::v1::TrainOptions>("trainer.textproto");
  EXPECT_EQ(server.spool().dir(), sidecar.spool());
  EXPECT_EQ(sidecar.tuples(), trainer.tuples());
  EXPECT_EQ(trainer.model_store(), server.model_store());
  EXPECT_EQ(trainer.model(), server.default_model());
}

}  // namespace
}  // namespace sortition
