#include "core/base/status_macros.h"

#include <memory>

#include "core/base/check.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

absl::StatusOr<std::unique_ptr<int>> Make(bool good) {
  if (!good) return absl::NotFoundError("no number");
  return std::make_unique<int>(4);
}

absl::StatusOr<int> Twice(bool first, bool second) {
  ASSIGN_OR_RETURN(const std::unique_ptr<int> a, Make(first));
  ASSIGN_OR_RETURN(const std::unique_ptr<int> b, Make(second));
  return *a + *b;
}

absl::Status Check(bool good) {
  RETURN_IF_ERROR(Make(good).status());
  return absl::InternalError("went on");
}

TEST(StatusMacrosTest, AssignsOrReturns) {
  ASSERT_OK_AND_ASSIGN(const int sum, Twice(true, true));
  EXPECT_EQ(sum, 8);
  EXPECT_THAT(Twice(true, false),
              StatusIs(absl::StatusCode::kNotFound, "no number"));
  EXPECT_THAT(Twice(false, true), StatusIs(absl::StatusCode::kNotFound));
}

TEST(StatusMacrosTest, ReturnsErrorsOnly) {
  EXPECT_THAT(Check(false), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(Check(true), StatusIs(absl::StatusCode::kInternal, "went on"));
}

TEST(CheckDeathTest, NamesTheCondition) {
  CHECK(1 + 1 == 2);
  EXPECT_DEATH(CHECK(1 + 1 == 3), "check failed: 1 \\+ 1 == 3");
}

}  // namespace
}  // namespace sortition
