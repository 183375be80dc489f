#include "core/counterfactual/evaluation/estimator.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/option.pb.h"

namespace sortition {
namespace {

TEST(EstimatorTest, KeysAreThoseOfTheOption) {
  const std::string help = config::v1::OpeOptions::descriptor()
                               ->FindFieldByName("estimator")
                               ->options()
                               .GetExtension(config::v1::info)
                               .help();
  const std::vector<std::string> keys =
      absl::StrSplit(help.substr(0, help.find(';')), ", ");
  // "Whose value is the answer: auto" comes first.
  ASSERT_EQ(keys.size(), AllEstimatorKinds().size() + 1);
  for (size_t i = 1; i < keys.size(); ++i) {
    const auto kind = EstimatorOfKey(keys[i]);
    ASSERT_TRUE(kind.has_value()) << keys[i];
    EXPECT_EQ(EstimatorKey(*kind), keys[i]);
    EXPECT_FALSE(EstimatorName(*kind).empty());
  }
  EXPECT_FALSE(EstimatorOfKey("auto").has_value());
}

}  // namespace
}  // namespace sortition
