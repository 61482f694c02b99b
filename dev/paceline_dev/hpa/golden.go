package podautoscaler

import (
	"encoding/json"
	"io"
	"math/rand"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	defaults "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
)

type rated struct {
	AgeSeconds float64 `json:"ageSeconds"`
	Replicas   int32   `json:"replicas"`
}

type moved struct {
	Behavior        *autoscalingv2.HorizontalPodAutoscalerBehavior `json:"behavior"`
	Min             int32                                          `json:"min"`
	Max             int32                                          `json:"max"`
	Current         int32                                          `json:"current"`
	Desired         int32                                          `json:"desired"`
	Recommendations []rated                                        `json:"recommendations"`
	Added           []rated                                        `json:"added"`
	Removed         []rated                                        `json:"removed"`
	Replicas        int32                                          `json:"replicas"`
	AbleToScale     string                                         `json:"ableToScale"`
	ScalingLimited  string                                         `json:"scalingLimited"`
}

type tolerated struct {
	Current  int32   `json:"current"`
	Usage    int64   `json:"usage"`
	PerPod   int64   `json:"perPod"`
	Up       float64 `json:"up"`
	Down     float64 `json:"down"`
	Replicas int32   `json:"replicas"`
}

// usage is a metrics client that always measures the same.
type usage struct {
	metrics.MetricsClient
	value int64
}

func (u usage) GetExternalMetric(string, string, labels.Selector) ([]int64, time.Time, error) {
	return []int64{u.value}, time.Now(), nil
}

// WriteGolden writes what the HPA makes of random cases, one on each line and always the same ones.
func WriteGolden(out io.Writer) error {
	random := rand.New(rand.NewSource(36))
	encoder := json.NewEncoder(out)
	for range 400 {
		if err := encoder.Encode(move(random)); err != nil {
			return err
		}
	}
	for range 100 {
		if err := encoder.Encode(tolerate(random)); err != nil {
			return err
		}
	}
	return nil
}

func move(random *rand.Rand) moved {
	given := moved{
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: rules(random), ScaleDown: rules(random)},
		Min:      int32(random.Intn(5)),
	}
	given.Max = given.Min + 1 + int32(random.Intn(40))
	given.Desired = size(random, given.Max)
	given.Current = given.Min + int32(random.Intn(int(given.Max-given.Min)+1))
	for range random.Intn(5) {
		given.Recommendations = append(given.Recommendations, rated{age(random, 400), size(random, given.Max)})
	}
	for range random.Intn(4) {
		given.Added = append(given.Added, rated{age(random, 120), 1 + int32(random.Intn(8))})
	}
	for range random.Intn(4) {
		given.Removed = append(given.Removed, rated{age(random, 120), 1 + int32(random.Intn(8))})
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: &given.Min,
		MaxReplicas: given.Max,
		Behavior:    given.Behavior.DeepCopy(),
	}}
	defaults.SetDefaults_HorizontalPodAutoscalerBehavior(hpa)
	controller := &HorizontalController{
		downscaleStabilisationWindow: 5 * time.Minute,
		recommendations:              map[string][]timestampedRecommendation{},
		scaleUpEvents:                map[string][]timestampedScaleEvent{"hpa": events(given.Added)},
		scaleDownEvents:              map[string][]timestampedScaleEvent{"hpa": events(given.Removed)},
	}
	for _, each := range given.Recommendations {
		controller.recommendations["hpa"] = append(
			controller.recommendations["hpa"], timestampedRecommendation{each.Replicas, ago(each.AgeSeconds)})
	}
	controller.recordInitialRecommendation(given.Current, "hpa")
	given.Replicas = controller.normalizeDesiredReplicasWithBehaviors(hpa, "hpa", given.Current, given.Desired, given.Min)
	for _, condition := range hpa.Status.Conditions {
		switch condition.Type {
		case autoscalingv2.AbleToScale:
			given.AbleToScale = condition.Reason
		case autoscalingv2.ScalingLimited:
			given.ScalingLimited = condition.Reason
		}
	}
	return given
}

func tolerate(random *rand.Rand) tolerated {
	given := tolerated{
		Current: int32(random.Intn(40)),
		PerPod:  1 + int64(random.Intn(8)),
		Up:      float64(random.Intn(6)) / 20,
		Down:    float64(random.Intn(6)) / 20,
	}
	given.Usage = int64(float64(given.Current) * float64(given.PerPod) * (0.6 + 0.8*random.Float64()))
	calculator := ReplicaCalculator{metricsClient: usage{value: given.Usage}}
	replicas, _, _, err := calculator.GetExternalPerPodMetricReplicas(
		given.Current, given.PerPod, "jobs", Tolerances{given.Down, given.Up}, "default", &metav1.LabelSelector{})
	if err != nil {
		panic(err)
	}
	given.Replicas = replicas
	return given
}

func rules(random *rand.Rand) *autoscalingv2.HPAScalingRules {
	given := &autoscalingv2.HPAScalingRules{}
	if random.Intn(3) > 0 {
		window := []int32{0, 15, 60, 300, 600}[random.Intn(5)]
		given.StabilizationWindowSeconds = &window
	}
	if random.Intn(3) > 0 {
		selected := []autoscalingv2.ScalingPolicySelect{"Max", "Max", "Min", "Min", "Disabled"}[random.Intn(5)]
		given.SelectPolicy = &selected
	}
	if random.Intn(4) > 0 {
		for range 1 + random.Intn(3) {
			policy := autoscalingv2.HPAScalingPolicy{
				Type: autoscalingv2.PodsScalingPolicy, Value: 1 + int32(random.Intn(12)), PeriodSeconds: 1 + int32(random.Intn(120)),
			}
			if random.Intn(2) == 0 {
				policy.Type, policy.Value = autoscalingv2.PercentScalingPolicy, 1+int32(random.Intn(150))
			}
			given.Policies = append(given.Policies, policy)
		}
	}
	return given
}

// size is often far below the current one, and sometimes above the greatest.
func size(random *rand.Rand, greatest int32) int32 {
	return int32(float64(greatest+8) * random.Float64() * random.Float64())
}

// age is half a second off every window and period: the time that the program itself takes changes nothing.
func age(random *rand.Rand, longest int) float64 {
	return float64(random.Intn(longest)) + 0.5
}

func ago(seconds float64) time.Time {
	return time.Now().Add(-time.Duration(seconds * float64(time.Second)))
}

func events(given []rated) []timestampedScaleEvent {
	var made []timestampedScaleEvent
	for _, each := range given {
		made = append(made, timestampedScaleEvent{each.Replicas, ago(each.AgeSeconds), false})
	}
	return made
}
