// NumPy arrays. What Open Bandit Pipeline has too has its names;
// docs/log_exchange.md lists all.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "client/export/exporter.h"
#include "client/export/npy_file.h"
#include "core/base/status_macros.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

class NpzExporter : public Exporter {
 public:
  explicit NpzExporter(const config::v1::LogExportOptions& options)
      : options_(options) {}

  // Makes the files of the arrays beside the output.
  absl::Status Open() {
    const std::string parent =
        std::filesystem::path(options_.output()).parent_path().string();
    dir_ = parent.empty() ? "." : parent;
    for (const auto& [array, name, type] :
         {Column{&slate_id_, "slate_id", "<i8"},
          Column{&position_, "position", "<i8"},
          Column{&action_, "action", "<i8"}, Column{&reward_, "reward", "<f8"},
          Column{&position_reward_, "position_reward", "<f8"},
          Column{&pscore_, "pscore", "<f8"},
          Column{&pscore_cascade_, "pscore_cascade", "<f8"},
          Column{&has_feedback_, "has_feedback", "|b1"},
          Column{&action_shown_, "action_shown", "|b1"},
          Column{&position_shown_, "position_shown", "|b1"},
          Column{&position_seen_, "position_seen", "|b1"},
          Column{&seen_ranks_, "seen_ranks", "<i8"},
          Column{&can_abstain_, "can_abstain", "|b1"},
          Column{&keep_probability_, "keep_probability", "<f8"},
          Column{&time_us_, "time_us", "<i8"},
          Column{&version_, "version", "<u8"},
          Column{&offsets_, "candidate_offsets", "<i8"},
          Column{&eligible_, "eligible", "|b1"}}) {
      RETURN_IF_ERROR(Make(name, type, array));
    }
    if (options_.with_censored()) {
      RETURN_IF_ERROR(Make("censored", "|b1", &censored_));
    }
    offsets_->Append(int64_t{0});
    return absl::OkStatus();
  }

  absl::string_view Add(const log::v1::BanditTuple& tuple) override {
    const auto add = [this](const TupleView& view) -> absl::string_view {
      const log::v1::Decision& decision = view.decision;
      if (decision.action_kind() == log::v1::SUBSET) {
        return "subsets, which have no positions";
      }
      const Candidates& candidates = view.query.candidates;
      if (!num_features_) {
        num_features_ = candidates.num_features();
        sparse_ = options_.features() == "sparse" ||
                  (options_.features() == "auto" && candidates.sparse());
        failure_ = OpenFeatures();
      }
      if (candidates.num_features() != *num_features_) return kOtherFeatures;
      if (!failure_.ok()) return {};
      AppendSlots(view);
      for (uint32_t i = 0; i < candidates.num_candidates(); ++i) {
        eligible_->Append(view.query.is_eligible(i));
        AppendFeatures(candidates, i);
      }
      num_candidates_ += candidates.num_candidates();
      most_candidates_ =
          std::max<int64_t>(most_candidates_, candidates.num_candidates());
      offsets_->Append(num_candidates_);
      ++num_rounds_;
      return {};
    };
    return WithView(tuple, nullptr, add);
  }

  absl::Status Finish() override {
    RETURN_IF_ERROR(failure_);
    for (const auto* array :
         {&slate_id_, &position_, &action_, &reward_, &position_reward_,
          &pscore_, &pscore_cascade_, &has_feedback_, &action_shown_,
          &position_shown_, &position_seen_, &seen_ranks_, &can_abstain_,
          &keep_probability_, &time_us_, &version_}) {
      RETURN_IF_ERROR(Take(array, {num_slots_}));
    }
    if (censored_ != nullptr) RETURN_IF_ERROR(Take(&censored_, {num_slots_}));
    RETURN_IF_ERROR(Take(&offsets_, {num_rounds_ + 1}));
    const auto rows = static_cast<uint64_t>(num_candidates_);
    RETURN_IF_ERROR(Take(&eligible_, {rows}));
    RETURN_IF_ERROR(FinishFeatures(rows));
    RETURN_IF_ERROR(AddScalar("n_rounds", static_cast<int64_t>(num_rounds_)));
    RETURN_IF_ERROR(AddScalar("n_actions", most_candidates_));
    return WriteNpz(options_.output(), arrays_);
  }

 private:
  struct Column {
    NpyFile** array;
    const char* name;
    const char* type;
  };

  absl::Status Make(const char* name, const char* type, NpyFile** array) {
    ASSIGN_OR_RETURN(auto file, NpyFile::Create(name, type, dir_));
    *array = file.get();
    arrays_.push_back(std::move(file));
    return absl::OkStatus();
  }

  absl::Status Take(NpyFile* const* array, const std::vector<uint64_t>& shape) {
    return *array == nullptr ? absl::OkStatus() : (*array)->Finish(shape);
  }

  absl::Status AddScalar(const char* name, int64_t value) {
    NpyFile* array = nullptr;
    RETURN_IF_ERROR(Make(name, "<i8", &array));
    array->Append(value);
    return array->Finish({});
  }

  absl::Status OpenFeatures() {
    if (!sparse_) return Make("features", "<f4", &values_);
    RETURN_IF_ERROR(Make("features_data", "<f4", &values_));
    RETURN_IF_ERROR(Make("features_indices", "<i8", &columns_));
    RETURN_IF_ERROR(Make("features_indptr", "<i8", &row_offsets_));
    row_offsets_->Append(int64_t{0});
    return absl::OkStatus();
  }

  absl::Status FinishFeatures(uint64_t rows) {
    if (!num_features_) return absl::OkStatus();
    if (!sparse_) return values_->Finish({rows, *num_features_});
    RETURN_IF_ERROR(values_->Finish({num_values_}));
    RETURN_IF_ERROR(columns_->Finish({num_values_}));
    RETURN_IF_ERROR(row_offsets_->Finish({rows + 1}));
    NpyFile* shape = nullptr;
    RETURN_IF_ERROR(Make("features_shape", "<i8", &shape));
    shape->Append(static_cast<int64_t>(rows));
    shape->Append(int64_t{*num_features_});
    return shape->Finish({2});
  }

  void AppendSlots(const TupleView& view) {
    const log::v1::BanditTuple& tuple = view.tuple;
    const log::v1::Decision& decision = view.decision;
    const bool shown = !ShownDiffers(tuple);
    const uint32_t shown_ranks = ShownRanks(tuple);
    const uint32_t seen_ranks = SeenRanks(tuple);
    const bool has_conditionals = view.ConditionalLogPropensity(0).has_value();
    double cascade = 0;
    for (int rank = 0; rank < decision.action_size(); ++rank) {
      const auto slot = static_cast<uint32_t>(rank);
      cascade += view.ConditionalLogPropensity(slot).value_or(0);
      const log::v1::RankReward* reward = view.RewardOfRank(slot);
      slate_id_->Append(static_cast<int64_t>(num_rounds_));
      position_->Append(static_cast<int64_t>(rank));
      action_->Append(static_cast<int64_t>(decision.action(rank)));
      reward_->Append(tuple.reward());
      position_reward_->Append(reward == nullptr ? std::nan("")
                                                 : reward->reward());
      pscore_->Append(view.propensity());
      pscore_cascade_->Append(has_conditionals ? std::exp(cascade)
                                               : std::nan(""));
      has_feedback_->Append(tuple.has_feedback());
      action_shown_->Append(shown);
      position_shown_->Append(slot < shown_ranks);
      position_seen_->Append(slot < seen_ranks);
      seen_ranks_->Append(tuple.shown().has_seen_ranks()
                              ? int64_t{tuple.shown().seen_ranks()}
                              : int64_t{-1});
      can_abstain_->Append(decision.can_abstain());
      keep_probability_->Append(
          tuple.keep_probability() == 0 ? 1 : tuple.keep_probability());
      time_us_->Append(decision.time_us());
      version_->Append(decision.version());
      if (censored_ != nullptr) censored_->Append(tuple.censored_size() > 0);
      ++num_slots_;
    }
  }

  void AppendFeatures(const Candidates& candidates, uint32_t i) {
    row_.assign(sparse_ ? 0 : *num_features_, 0.0f);
    ForEachFeature(candidates, i, [&](uint32_t column, float value) {
      if (!sparse_) {
        row_[column] = value;
      } else if (value != 0) {
        row_.push_back(value);
        columns_->Append(int64_t{column});
      }
    });
    values_->Append(std::span<const float>(row_));
    if (!sparse_) return;
    num_values_ += row_.size();
    row_offsets_->Append(static_cast<int64_t>(num_values_));
  }

  const config::v1::LogExportOptions& options_;
  std::string dir_;
  std::vector<std::unique_ptr<NpyFile>> arrays_;
  // One value for each rank of an action.
  NpyFile* slate_id_ = nullptr;
  NpyFile* position_ = nullptr;
  NpyFile* action_ = nullptr;
  NpyFile* reward_ = nullptr;
  NpyFile* position_reward_ = nullptr;
  NpyFile* pscore_ = nullptr;
  NpyFile* pscore_cascade_ = nullptr;
  NpyFile* has_feedback_ = nullptr;
  NpyFile* action_shown_ = nullptr;
  NpyFile* position_shown_ = nullptr;
  NpyFile* position_seen_ = nullptr;
  NpyFile* seen_ranks_ = nullptr;
  NpyFile* can_abstain_ = nullptr;
  NpyFile* keep_probability_ = nullptr;
  NpyFile* time_us_ = nullptr;
  NpyFile* version_ = nullptr;
  NpyFile* censored_ = nullptr;
  // One for each candidate.
  NpyFile* offsets_ = nullptr;
  NpyFile* eligible_ = nullptr;
  NpyFile* values_ = nullptr;
  NpyFile* columns_ = nullptr;
  NpyFile* row_offsets_ = nullptr;
  std::optional<uint32_t> num_features_;
  bool sparse_ = false;
  uint64_t num_rounds_ = 0;
  uint64_t num_slots_ = 0;
  uint64_t num_values_ = 0;
  int64_t num_candidates_ = 0;
  int64_t most_candidates_ = 0;
  std::vector<float> row_;
  absl::Status failure_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Exporter>> MakeNpzExporter(
    const config::v1::LogExportOptions& options) {
  auto exporter = std::make_unique<NpzExporter>(options);
  RETURN_IF_ERROR(exporter->Open());
  return exporter;
}

}  // namespace sortition
