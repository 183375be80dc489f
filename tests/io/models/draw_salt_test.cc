#include "io/models/draw_salt.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::HasSubstr;
using testing::Not;

constexpr char kSalt[] = "00112233445566778899aabbccddeeff";

class DrawSaltTest : public testing::Test {
 protected:
  DrawSaltTest() {
    model_.set_name("ads");
    model_.mutable_policy()->mutable_plackett_luce();
    model_.mutable_policy()->set_inverse_temperature(1);
    model_.set_num_features(1);
    model_.add_weights(1);
  }

  absl::Status Publish(const PublishOptions& options) const {
    return store_.Publish(model_, nullptr, {}, options).status();
  }
  std::string SaltOf(uint64_t version) const {
    const auto stored = store_.Load("ads", version);
    EXPECT_OK(stored);
    return stored.ok() ? stored->draw_salt : "";
  }

  const TempDir dir_;
  const ModelStore store_{dir_ / "models"};
  model::v1::Model model_;
};

TEST_F(DrawSaltTest, RandomSaltsAreGoodAndDiffer) {
  const std::string salt = RandomDrawSalt();
  EXPECT_EQ(salt.size(), 32u);
  EXPECT_OK(ValidateDrawSalt(salt));
  EXPECT_NE(salt, RandomDrawSalt());
}

TEST_F(DrawSaltTest, AFirstVersionGetsARandomSaltAndTheNextInheritIt) {
  ASSERT_OK(Publish({}));
  ASSERT_OK(Publish({}));
  EXPECT_EQ(SaltOf(1).size(), 32u);
  EXPECT_EQ(SaltOf(2), SaltOf(1));
  ASSERT_OK(Publish({.draw_salt = kSalt}));
  ASSERT_OK(Publish({}));
  EXPECT_EQ(SaltOf(3), kSalt);
  EXPECT_EQ(SaltOf(4), kSalt);
  model_.set_name("other");
  ASSERT_OK(Publish({}));
  ASSERT_OK_AND_ASSIGN(const StoredModel other, store_.Load("other", 1));
  EXPECT_NE(other.draw_salt, kSalt);
}

// Of a release without salts.
TEST_F(DrawSaltTest, AVersionWithoutASaltLoadsAndTheNextHasOne) {
  ASSERT_OK(Publish({.draw_salt = kSalt}));
  const std::string path =
      absl::StrCat(store_.root(), "/ads/1/MANIFEST.textproto");
  ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(path));
  text.resize(text.find("draw_salt"));
  ASSERT_OK(WriteFile(path, text));
  EXPECT_EQ(SaltOf(1), "");
  ASSERT_OK(Publish({}));
  EXPECT_EQ(SaltOf(2).size(), 32u);
}

// The value is a secret: no message repeats it.
TEST_F(DrawSaltTest, RefusesOtherThan32Digits) {
  for (const std::string bad : {"secret", "00112233445566778899AABBCCDDEEFF",
                                "00112233445566778899aabbccddeeff0",
                                "00112233445566778899aabbccddeeg0"}) {
    const absl::Status status = Publish({.draw_salt = bad});
    EXPECT_THAT(status, IsInvalidArgument("draw_salt has"));
    EXPECT_THAT(status.message(), Not(HasSubstr(bad)));
  }
  ASSERT_OK(Publish({.draw_salt = kSalt}));
  const std::string path =
      absl::StrCat(store_.root(), "/ads/1/MANIFEST.textproto");
  ASSERT_OK_AND_ASSIGN(std::string text, ReadFile(path));
  text.replace(text.find(kSalt), 2, "zz");
  ASSERT_OK(WriteFile(path, text));
  EXPECT_THAT(store_.Load("ads", 1).status(),
              StatusIs(StatusCode::kDataLoss,
                       HasSubstr("MANIFEST.textproto: draw_salt has 32")));
}

}  // namespace
}  // namespace sortition
