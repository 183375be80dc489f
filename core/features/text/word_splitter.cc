#include "core/features/text/word_splitter.h"

#include <libstemmer.h>
#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uversion.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/features/text/english.h"
#include "core/features/text/word_id.h"

namespace sortition {
namespace {

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<signed char>(c) >= 0; });
}

// ICU counts an at sign as a letter, so that addresses stay whole.
bool IsLetter(char c) { return absl::ascii_isalpha(c) || c == '@'; }

bool IsWordByte(char c) {
  return IsLetter(c) || absl::ascii_isdigit(c) || c == '_';
}

// True if a word goes on behind the byte `middle`, between `before` and
// `after`: rules WB6, WB7, WB11 and WB12 for ASCII.
bool Joins(char before, char middle, char after) {
  if (IsLetter(before) && IsLetter(after)) {
    return middle == '.' || middle == '\'';
  }
  if (absl::ascii_isdigit(before) && absl::ascii_isdigit(after)) {
    return middle == '.' || middle == '\'' || middle == ',' || middle == ';';
  }
  return false;
}

// Returns the end of the word that begins at `begin`.
size_t WordEnd(absl::string_view text, size_t begin) {
  size_t i = begin;
  while (i < text.size()) {
    if (IsWordByte(text[i])) {
      ++i;
    } else if (i + 1 < text.size() && i > begin &&
               Joins(text[i - 1], text[i], text[i + 1])) {
      i += 2;
    } else {
      break;
    }
  }
  return i;
}

uint32_t NumberKind(absl::string_view folded) {
  if (!absl::ascii_isdigit(folded[0])) return 0;
  const bool is_year =
      folded.size() == 4 && (folded[0] == '1' || folded[0] == '2') &&
      std::all_of(folded.begin(), folded.end(), absl::ascii_isdigit);
  return kNumber | (is_year ? uint32_t{kYear} : 0);
}

}  // namespace

void TextWords::Clear() {
  bytes_.clear();
  ends_.clear();
  ids_.clear();
  folded_ids_.clear();
  kinds_.clear();
}

void TextWords::Add(absl::string_view folded, absl::string_view stem,
                    uint32_t kind) {
  const uint64_t folded_id = WordId(folded);
  kinds_.push_back(kind | NumberKind(folded) | EnglishKind(folded_id));
  folded_ids_.push_back(folded_id);
  ids_.push_back(stem == folded ? folded_id : WordId(stem));
  bytes_.append(stem.data(), stem.size());
  ends_.push_back(bytes_.size());
}

struct WordSplitter::Icu {
  // Returns `unfolded` folded, valid until the next call.
  const std::string& Fold(const icu::UnicodeString& unfolded) {
    UErrorCode error = U_ZERO_ERROR;
    folding->normalize(unfolded, folded, error);
    CHECK(U_SUCCESS(error));
    utf8.clear();
    return folded.toUTF8String(utf8);
  }

  std::unique_ptr<icu::BreakIterator> breaks;
  const icu::Normalizer2* folding = nullptr;
  icu::UnicodeString text;
  icu::UnicodeString word;
  icu::UnicodeString folded;
  std::string utf8;
};

struct WordSplitter::Stemmer {
  ~Stemmer() { sb_stemmer_delete(algorithm); }
  sb_stemmer* algorithm = nullptr;
};

WordSplitter::WordSplitter() = default;
WordSplitter::~WordSplitter() = default;

absl::Status CheckStemmer(const std::string& stemmer) {
  if (stemmer.empty()) return absl::OkStatus();
  const char** const begin = sb_stemmer_list();
  std::string names;
  for (const char** name = begin; *name != nullptr; ++name) {
    if (stemmer == *name) return absl::OkStatus();
    absl::StrAppend(&names, names.empty() ? "" : ", ", *name);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "words.stemmer is '", stemmer, "', must be empty or one of ", names));
}

absl::StatusOr<std::unique_ptr<WordSplitter>> WordSplitter::Create(
    const std::string& stemmer) {
  RETURN_IF_ERROR(CheckStemmer(stemmer));
  std::unique_ptr<WordSplitter> splitter(new WordSplitter);
  if (stemmer.empty()) return splitter;
  splitter->stemmer_ = std::make_unique<Stemmer>();
  splitter->stemmer_->algorithm = sb_stemmer_new(stemmer.c_str(), "UTF_8");
  if (splitter->stemmer_->algorithm == nullptr) {
    return absl::ResourceExhaustedError("no memory for a stemmer");
  }
  return splitter;
}

void WordSplitter::Split(absl::string_view text, TextWords* words) {
  if (!IsAscii(text)) {
    SplitByIcu(text, words);
    return;
  }
  words->Clear();
  SplitAscii(text, words);
}

void WordSplitter::SplitAscii(absl::string_view text, TextWords* words) {
  size_t begin = 0;
  while (begin < text.size()) {
    if (!IsWordByte(text[begin])) {
      ++begin;
      continue;
    }
    const size_t end = WordEnd(text, begin);
    const absl::string_view word = text.substr(begin, end - begin);
    begin = end;
    if (std::none_of(word.begin(), word.end(), absl::ascii_isalnum)) continue;
    folded_.assign(word.data(), word.size());
    absl::AsciiStrToLower(&folded_);
    AddWord(folded_, absl::ascii_isupper(word[0]) ? uint32_t{kCapital} : 0,
            words);
  }
}

void WordSplitter::AddWord(absl::string_view folded, uint32_t kind,
                           TextWords* words) {
  if (stemmer_ == nullptr) {
    words->Add(folded, folded, kind);
    return;
  }
  const sb_symbol* const stem = sb_stemmer_stem(
      stemmer_->algorithm, reinterpret_cast<const sb_symbol*>(folded.data()),
      static_cast<int>(folded.size()));
  const absl::string_view stem_bytes(
      reinterpret_cast<const char*>(stem),
      static_cast<size_t>(sb_stemmer_length(stemmer_->algorithm)));
  words->Add(folded, stem_bytes, kind);
}

WordSplitter::Icu& WordSplitter::MakeIcu() {
  if (icu_ != nullptr) return *icu_;
  UErrorCode error = U_ZERO_ERROR;
  icu_ = std::make_unique<Icu>();
  icu_->breaks.reset(
      icu::BreakIterator::createWordInstance(icu::Locale::getRoot(), error));
  icu_->folding = icu::Normalizer2::getNFKCCasefoldInstance(error);
  CHECK(U_SUCCESS(error));
  return *icu_;
}

void WordSplitter::SplitByIcu(absl::string_view text, TextWords* words) {
  words->Clear();
  Icu& state = MakeIcu();
  state.text = icu::UnicodeString::fromUTF8(
      icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  state.text.findAndReplace(icu::UnicodeString(UChar{0x2019}),
                            icu::UnicodeString(UChar{'\''}));
  state.breaks->setText(state.text);
  int32_t begin = state.breaks->first();
  for (int32_t end = state.breaks->next(); end != icu::BreakIterator::DONE;
       begin = end, end = state.breaks->next()) {
    bool is_word = false;
    for (int32_t i = begin; i < end && !is_word;
         i = state.text.moveIndex32(i, 1)) {
      is_word = u_isalnum(state.text.char32At(i));
    }
    if (!is_word) continue;
    state.word.setTo(state.text, begin, end - begin);
    const std::string& folded = state.Fold(state.word);
    if (folded.empty()) continue;
    const bool is_upper = u_isupper(state.word.char32At(0));
    AddWord(folded, is_upper ? uint32_t{kCapital} : 0, words);
  }
}

std::string WordSplitter::Fold(absl::string_view word) {
  if (IsAscii(word)) return absl::AsciiStrToLower(word);
  return MakeIcu().Fold(icu::UnicodeString::fromUTF8(
      icu::StringPiece(word.data(), static_cast<int32_t>(word.size()))));
}

std::string UnicodeVersion() {
  UVersionInfo version;
  char text[U_MAX_VERSION_STRING_LENGTH];
  u_getUnicodeVersion(version);
  u_versionToString(version, text);
  return text;
}

}  // namespace sortition
