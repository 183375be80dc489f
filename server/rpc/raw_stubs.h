#pragma once
// The services, whose requests come as bytes.
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {

using ReportStub = v1::Ranking::WithRawMethod_ReportShown<
    v1::Ranking::WithRawMethod_ReportFeedback<v1::Ranking::Service>>;
using RankingStub =
    v1::Ranking::WithRawMethod_Rank<v1::Ranking::WithRawMethod_Select<
        v1::Ranking::WithRawMethod_Label<v1::Ranking::WithRawMethod_Aggregate<
            v1::Ranking::WithRawMethod_RankStream<ReportStub>>>>>;
using ModelsStub = v1::Models::WithRawMethod_ListModels<
    v1::Models::WithRawMethod_DescribeModel<
        v1::Models::WithRawMethod_ChangeServing<
            v1::Models::WithRawMethod_ReloadModels<v1::Models::Service>>>>;

}  // namespace sortition
