#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/scorers/document_formats.h"

namespace sortition {
namespace {

// Bytes of a number by its marker; 0: not a number.
size_t NumberBytes(char marker) {
  switch (marker) {
    case 'i':
    case 'U':
      return 1;
    case 'I':
      return 2;
    case 'l':
    case 'd':
      return 4;
    case 'L':
    case 'D':
      return 8;
    default:
      return 0;
  }
}

// Marker or byte in a message.
std::string Shown(char marker) {
  const auto byte = static_cast<unsigned char>(marker);
  return byte > 32 && byte < 127
             ? absl::StrCat("'", std::string(1, marker), "'")
             : absl::StrCat("byte ", byte);
}

class UbjsonReader {
 public:
  explicit UbjsonReader(absl::string_view bytes) : bytes_(bytes) {}

  absl::StatusOr<DocumentValue> Read() {
    RETURN_IF_ERROR(ReadValue());
    while (!open_.empty()) RETURN_IF_ERROR(ReadPart());
    if (place_ < bytes_.size()) return Wrong("the end of the file");
    return builder_.Take();
  }

 private:
  // An object, or an array that may have stated how many items it has.
  struct Container {
    bool is_object = false;
    bool is_counted = false;
    uint64_t items_left = 0;
  };

  absl::Status Fail(absl::string_view reason) const {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", place_, ": ", reason));
  }
  // Refuses what is at the current place.
  absl::Status Wrong(absl::string_view permitted) const {
    if (place_ >= bytes_.size()) {
      return Fail(absl::StrCat("the file ends, must have ", permitted));
    }
    return Fail(absl::StrCat(Shown(bytes_[place_]), ", must be ", permitted));
  }
  absl::Status Check(bool is_taken) const {
    return is_taken ? absl::OkStatus() : Fail(builder_.problem());
  }

  char Peek() const { return place_ < bytes_.size() ? bytes_[place_] : '\0'; }
  size_t left() const { return bytes_.size() - place_; }

  // Big-endian. Requires that many bytes.
  uint64_t TakeBits(size_t num_bytes) {
    uint64_t bits = 0;
    for (size_t i = 0; i < num_bytes; ++i) {
      bits = bits << 8 | static_cast<unsigned char>(bytes_[place_++]);
    }
    return bits;
  }

  // Requires NumberBytes(marker) bytes.
  double TakeNumber(char marker) {
    const uint64_t bits = TakeBits(NumberBytes(marker));
    switch (marker) {
      case 'i':
        return static_cast<int8_t>(bits);
      case 'U':
        return static_cast<double>(bits);
      case 'I':
        return static_cast<int16_t>(bits);
      case 'l':
        return static_cast<int32_t>(bits);
      case 'L':
        return static_cast<double>(static_cast<int64_t>(bits));
      case 'd':
        return static_cast<double>(
            std::bit_cast<float>(static_cast<uint32_t>(bits)));
      default:
        return std::bit_cast<double>(bits);
    }
  }

  // A length with its marker. So many values of `bytes_each` must follow.
  absl::StatusOr<uint64_t> ReadLength(size_t bytes_each) {
    const char marker = Peek();
    const size_t size = NumberBytes(marker);
    if (size == 0 || marker == 'd' || marker == 'D') {
      return Wrong("a length: one of i, U, I, l and L");
    }
    const size_t begin = place_++;
    if (left() < size) return Wrong("a length");
    const double length = TakeNumber(marker);
    const uint64_t most = left() / bytes_each;
    if (length >= 0 && length <= static_cast<double>(most)) {
      return static_cast<uint64_t>(length);
    }
    place_ = begin;
    return Fail(absl::StrCat("a length of ", length, ", must be in [0, ", most,
                             "]: the file has no more bytes"));
  }

  absl::StatusOr<absl::string_view> ReadText() {
    ASSIGN_OR_RETURN(const uint64_t size, ReadLength(1));
    const absl::string_view text = bytes_.substr(place_, size);
    place_ += size;
    return text;
  }

  // An array of numbers of one kind, behind "[$".
  absl::Status ReadNumbers(size_t begin) {
    const char marker = Peek();
    const size_t size = NumberBytes(marker);
    if (size == 0) return Wrong("a kind of number: one of i, U, I, l, L, d, D");
    ++place_;
    if (Peek() != '#') return Wrong("'#', the number of values");
    ++place_;
    ASSIGN_OR_RETURN(const uint64_t count, ReadLength(size));
    DocumentNumbers numbers;
    numbers.reserve(count);
    for (uint64_t i = 0; i < count; ++i) numbers.push_back(TakeNumber(marker));
    return Check(builder_.AllNumbers(begin, std::move(numbers)));
  }

  absl::Status ReadArray(size_t begin) {
    if (Peek() == '$') {
      ++place_;
      return ReadNumbers(begin);
    }
    Container array;
    if (Peek() == '#') {
      ++place_;
      array.is_counted = true;
      ASSIGN_OR_RETURN(array.items_left, ReadLength(1));
    }
    open_.push_back(array);
    return Check(builder_.BeginArray(begin));
  }

  absl::Status ReadValue() {
    const size_t begin = place_;
    const char marker = Peek();
    if (NumberBytes(marker) > 0) {
      ++place_;
      if (left() < NumberBytes(marker)) return Wrong("a number");
      return Check(builder_.Number(begin, TakeNumber(marker)));
    }
    switch (marker) {
      case 'Z':
        ++place_;
        return Check(builder_.Null(begin));
      case 'T':
      case 'F':
        ++place_;
        return Check(builder_.Bool(begin, marker == 'T'));
      case 'S': {
        ++place_;
        ASSIGN_OR_RETURN(const absl::string_view text, ReadText());
        return Check(builder_.Text(begin, text));
      }
      case 'C': {
        ++place_;
        if (left() < 1) return Wrong("a character");
        return Check(builder_.Text(begin, bytes_.substr(place_++, 1)));
      }
      case '[':
        ++place_;
        return ReadArray(begin);
      case '{':
        ++place_;
        open_.push_back({.is_object = true});
        return Check(builder_.BeginObject(begin));
      default:
        return Wrong("a value");
    }
  }

  // Reads the next item of the container that is open, or its end.
  absl::Status ReadPart() {
    const Container container = open_.back();
    if (container.is_counted ? container.items_left == 0
                             : Peek() == (container.is_object ? '}' : ']')) {
      if (!container.is_counted) ++place_;
      open_.pop_back();
      builder_.End();
      return absl::OkStatus();
    }
    if (container.is_counted) --open_.back().items_left;
    if (container.is_object) {
      if (Peek() == '$' || Peek() == '#') return Wrong("the name of a member");
      ASSIGN_OR_RETURN(const absl::string_view name, ReadText());
      builder_.Key(name);
    }
    return ReadValue();
  }

  absl::string_view bytes_;
  size_t place_ = 0;
  std::vector<Container> open_;
  DocumentBuilder builder_;
};

}  // namespace

absl::StatusOr<DocumentValue> ParseUbjsonDocument(absl::string_view bytes) {
  return UbjsonReader(bytes).Read();
}

}  // namespace sortition
