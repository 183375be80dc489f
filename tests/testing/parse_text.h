#pragma once
// Messages from their text form, for tests.
#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace sortition {

template <typename Message>
Message ParseText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message))
      << text;
  return message;
}

}  // namespace sortition
