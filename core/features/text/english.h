#pragma once
// What some English words tell about a question and its answer. Words of other
// languages are of no kind; then the features that ask are 0.
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sortition {

// Bits of WordList::kind().
enum WordKind : uint32_t {
  kStopWord = 1 << 0,
  kNegation = 1 << 1,    // not, no, never, n't ...
  kMonth = 1 << 2,       // january ...
  kNumberWord = 1 << 3,  // two, hundred, first ...
  kReason = 1 << 4,      // because, due, since ...
  kMeans = 1 << 5,       // by, through, using ...
  kPlaceWord = 1 << 6,   // in, at, near ...
  kQuantity = 1 << 7,    // what follows "how": many, much, long ...
  // Not of a list, but of the text:
  kCapital = 1 << 8,  // Begins with an upper-case letter.
  kNumber = 1 << 9,   // Begins with a digit.
  kYear = 1 << 10,    // A number from 1000 to 2999 in four digits.
  // The question word plus 1, in the highest byte.
  kQuestionShift = 24,
};

enum class QuestionType : uint32_t {
  kWho,
  kWhere,
  kWhen,
  kWhy,
  kHow,
  kHowMany,
  kWhich,
  kWhat,
  kOther,
};
inline constexpr uint32_t kNumQuestionTypes = 9;
absl::string_view QuestionTypeName(QuestionType type);

// Returns the kinds of a word by its id (TextWords), 0 for most.
uint32_t EnglishKind(uint64_t id);

}  // namespace sortition
