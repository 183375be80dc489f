#include "client/logs/decision_finder.h"

#include "io/segments/parse_message.h"

namespace sortition {

void DecisionFinder::Note(const std::string& decision_id, uint64_t offset) {
  const Hash128 hash = HashBytes(decision_id);
  places_[hash] = {paths_.size() - 1, offset, ++number_};
  order_.emplace_back(hash, number_);
  if (order_.size() <= most_remembered_) return;
  const auto [oldest, number] = order_.front();
  order_.pop_front();
  const auto found = places_.find(oldest);
  // It may have come again since.
  if (found != places_.end() && found->second.number == number) {
    places_.erase(found);
  }
}

std::optional<log::v1::Decision> DecisionFinder::Find(
    const std::string& decision_id) {
  const auto found = places_.find(HashBytes(decision_id));
  if (found == places_.end()) return std::nullopt;
  const Place& place = found->second;
  if (reader_ == nullptr || read_segment_ != place.segment) {
    reader_.reset();
    auto reader = SegmentReader::Open(paths_[place.segment]);
    if (!reader.ok()) return std::nullopt;
    reader_ = *std::move(reader);
    read_segment_ = place.segment;
  }
  reader_->Seek(place.offset);
  absl::string_view payload;
  uint64_t at = 0;
  const auto outcome = reader_->Next(&payload, &at);
  log::v1::LogRecord record;
  const bool is_there = outcome.ok() &&
                        *outcome == SegmentReader::Outcome::kRecord &&
                        at == place.offset && ParseMessage(payload, &record) &&
                        record.decision().decision_id() == decision_id;
  if (!is_there) return std::nullopt;
  return std::move(*record.mutable_decision());
}

}  // namespace sortition
