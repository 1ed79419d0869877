package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestForChangesTheTier(t *testing.T) {
	t.Parallel()

	const (
		up                       = plan.StepUp
		prepare, destroy, remove = plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove
		cutover                  = plan.StepCutover
		retire, due, reprovision = tenant.EventRetire, tenant.EventDue, tenant.EventReprovision
	)

	for _, c := range []struct {
		name  string
		story *story
		want  string
	}{
		{"built", in("free").to("standard"), "up t2 +t1, building t2 > applied, baking t1"},
		{"built, of a tier that bakes", in("free").to("baked"), "up t2 +t1, building t2 > applied, baking t1"},
		{"built, of a protected tier", in("free").to("silo"), "up t2 +t1, building t2 > more, baking t1"},
		{"built beside a protected one", in("silo").to("free"), "up t2 +t1, building t2 > applied, baking t1 guarded"},
		{"built beside one with a snapshot", in("baked").to("free"), "up t2 +t1, building t2 > applied, baking t1 guarded"},
		{"built, with requests", in("free").to("standard").asks(reprovision).asks(tenant.EventPreview), "refresh preview up t2 +t1, building t2 > applied, baking t1"},
		{"built, where data may be lost", in("fragile").parting("free"), "up t2 +t1, building t2 > applied, baking t1"},
		{"build failed", in("free").to("standard").fails(up), "up t2 +t1, building t2 > applied, baking t1"},
		{"build died", in("silo").to("free").dies(up), "up t2 +t1, building t2 > applied, baking t1 guarded"},
		{"build died before its first step", in("silo").to("free").dies("begin"), "up t2 +t1, building t2 > applied, baking t1 guarded"},
		{"build given up and undone", in("silo").to("free").givesUp().asks(reprovision), "refresh up t3 +t1, building t3 > applied, baking t1 guarded"},
		{"build given up and kept", in("silo").to("standard").givesUp().asks(reprovision), "refresh up t2 +t1, building t2 > applied, baking t1 guarded"},
		{"built for a tenant that was changed meanwhile", in("free").to("silo").dies(up).asks(tenant.EventSuspended), "up t2 +t1, building t2 > more, baking t1"},
		{"protected once it serves", in("free").to("silo").works(), "up t2 +t1, baking t1 > applied, baking t1"},
		{"protection failed", in("free").to("silo").works().fails(up), "up t2 +t1, baking t1 > applied, baking t1"},
		{"left before it was protected", in("free").to("hooked").works().confirms().works().to("free"), "up t1 +t2, building t1 stood > applied, baking t2"},

		{"called off while built", in("free").to("standard").dies(up).to("free"), "up t1 -t2, building t2 > applied"},
		{"called off before anything was built", in("free").to("standard").dies("begin").to("free"), "up t1 -t2, building t2 > applied"},
		{"called off for a third tier", in("free").to("standard").dies(up).to("silo"), "up t1 -t2, building t2 > more"},
		{"third tier after that", in("free").to("standard").dies(up).to("silo").works(), "up t3 +t1, building t3 > more, baking t1"},
		{"called off with a request", in("free").to("standard").fails(up).to("free").asks(tenant.EventRefresh), "refresh up t1 -t2, building t2 > applied"},
		{"calling off died", in("free").to("standard").dies(up).to("free").dies(up), "up t1 -t2, building t2 > applied"},

		{"hook to be asked", in("free").to("hooked"), "up t2 +t1, building t2 > ask"},
		{"hook not asked, worker died", in("free").to("hooked").dies(cutover), "up t2 +t1, building t2 > ask"},
		{"hook not reached", in("free").to("hooked").fails(cutover), "t2 +t1, cutover t2 > ask, cutover t2"},
		{"hook not reached, and time is over", in("free").to("hooked").fails(cutover).later(2 * time.Hour), "t2 +t1, cutover t2 > ask, cutover t2"},
		{"hook asked", in("free").to("hooked").works(), "t2 +t1, cutover t2 > wait, cutover t2"},
		{"hook asked, and still waiting", in("free").to("hooked").works().later(59 * time.Minute), "t2 +t1, cutover t2 > wait, cutover t2"},
		{"hook asked, with a request", in("free").to("hooked").works().asks(tenant.EventRefresh), "refresh t2 +t1, cutover t2 > wait, cutover t2"},
		{"hook asked, and tenant changed", in("free").to("hooked").works().asks(tenant.EventSuspended), "up t2 +t1, building t2 > ask"},
		{"hook confirms", in("free").to("hooked").works().confirms(), "t2 +t1, cutover t2 > more, baking t1"},
		{"hook confirms late", in("free").to("hooked").works().confirms().later(2 * time.Hour), "t2 +t1, cutover t2 > more, baking t1"},
		{"hook confirms with an older token", in("free").to("hooked").fails(cutover).works().answers(false, 1), "t2 +t1, cutover t2 > more, baking t1"},
		{"hook confirms with a token of an older build", in("free").to("hooked").dies(cutover).works().answers(false, 1), "t2 +t1, cutover t2 > wait, cutover t2"},
		{"somebody guesses", in("free").to("hooked").works().hears(tenant.Event{Type: tenant.EventCutoverConfirmed, Token: "guess"}), "t2 +t1, cutover t2 > wait, cutover t2"},
		{"hook refuses", in("free").to("hooked").works().refuses(), "up t1 -t2, cutover t2 > back"},
		{"hook refuses after it confirmed", in("free").to("hooked").works().confirms().refuses(), "up t1 -t2, cutover t2 > back"},
		{"hook confirms after it refused", in("free").to("hooked").works().refuses().confirms(), "t2 +t1, cutover t2 > more, baking t1"},
		{"newest token is the older answer", in("free").to("hooked").fails(cutover).works().refuses().answers(false, 1), "t2 +t1, cutover t2 > more, baking t1"},
		{"way back after a refusal died", in("free").to("hooked").works().refuses().dies(up), "up t1 -t2, cutover t2 > back"},
		{"way back after a refusal failed", in("free").to("hooked").works().refuses().fails(up), "up t1 -t2, cutover t2 > back"},
		{"confirmed on the way back", in("free").to("hooked").works().refuses().dies(up).confirms(), "up t2 +t1, building t2 > ask"},
		{"hook is late", in("free").to("hooked").works().later(time.Hour), "up t1 -t2, cutover t2 > back"},
		{"way back after that died", in("free").to("hooked").works().later(time.Hour).dies(up), "up t1 -t2, cutover t2 > back"},
		{"tried again after a refusal", in("free").to("hooked").works().refuses().works().asks(reprovision), "refresh up t3 +t1, building t3 > ask"},
		{"called off while waiting", in("free").to("hooked").works().to("free"), "up t1 -t2, cutover t2 > applied"},
		{"third tier while waiting", in("free").to("hooked").works().to("silo"), "up t1 -t2, cutover t2 > more"},
		{"hook confirms, and switch died", in("free").to("hooked").works().confirms().dies("begin"), "t2 +t1, cutover t2 > more, baking t1"},

		{"baking", in("silo").to("baked").works(), "t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"baking, request", in("silo").to("baked").works().asks(tenant.EventRefresh), "refresh t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"baking, changed", in("silo").to("baked").works().asks(tenant.EventSuspended), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"baking, due before its time", in("silo").to("baked").works().asks(due).later(59 * time.Minute), "t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"baking, due", in("silo").to("baked").works().asks(due).later(time.Hour), "prepare-delete up t2 -t1, retiring t1 guarded > applied"},
		{"baking, due with a difference", in("silo").to("baked").works().asks(due).later(time.Hour).asks(tenant.EventSuspended), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"baking, update died", in("silo").to("baked").works().asks(tenant.EventSuspended).dies(up).later(time.Hour), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"retire requested", in("silo").to("baked").works().asks(retire), "prepare-delete up t2 -t1, retiring t1 guarded > applied"},
		{"retire requested, unguarded", in("free").to("baked").works().asks(retire), "up t2 -t1, retiring t1 > applied"},
		{"retire requested beside a difference", in("silo").to("baked").works().asks(retire).asks(tenant.EventSuspended), "up t2 +t1, baking t1 guarded > more, baking t1 guarded"},
		{"retired after that", in("silo").to("baked").works().asks(retire).asks(tenant.EventSuspended).works(), "prepare-delete up t2 -t1, retiring t1 guarded > applied"},
		{"retire request served", in("silo").to("baked").asks(retire).works().asks(due), "t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"retiring failed in prepare-delete", in("silo").to("baked").works().asks(retire).fails(prepare), "prepare-delete up t2 -t1, retiring t1 guarded > applied"},
		{"retiring failed in up", in("silo").to("baked").works().asks(retire).fails(up), "up t2 -t1, retiring t1 > applied"},
		{"retiring died in prepare-delete", in("silo").to("baked").works().asks(retire).dies(prepare), "prepare-delete up t2 -t1, retiring t1 guarded > applied"},
		{"retiring died in up", in("silo").to("baked").works().asks(retire).dies(up), "up t2 -t1, retiring t1 > applied"},
		{"retiring died in up twice", in("silo").to("baked").works().asks(retire).dies(up).dies(up), "up t2 -t1, retiring t1 > applied"},
		{"retiring given up", in("silo").to("free").works().asks(retire).givesUp().asks(reprovision), "refresh up t2 -t1, retiring t1 > applied"},
		{"retiring, unguarded, died", in("free").to("standard").works().asks(retire).dies(up), "up t2 -t1, retiring t1 > applied"},
		{"no way back from retiring", in("silo").to("baked").works().asks(retire).dies(up).to("silo"), "up t2 -t1, retiring t1 > more"},
		{"retired", in("silo").to("baked").works().asks(retire).works(), "t2 > applied"},
		{"a third topology", in("silo").to("baked").works().asks(retire).works().to("silo"), "up t3 +t2, building t3 > more, baking t2 guarded"},

		{"back", in("silo").to("baked").works().to("silo"), "up t1 +t2, building t1 stood guarded > applied, baking t2 guarded"},
		{"back, with a hook", in("hooked").to("baked").works().to("hooked"), "up t1 +t2, building t1 stood guarded > ask"},
		{"back, confirmed", in("hooked").to("baked").works().to("hooked").works().confirms(), "t1 +t2, cutover t1 stood guarded > applied, baking t2 guarded"},
		{"back, refused", in("hooked").to("baked").works().to("hooked").works().refuses(), "t2, cutover t1 stood guarded > back, baking t1 guarded"},
		{"back, and done", in("silo").to("baked").works().to("silo").works(), "prepare-delete up t1 -t2, retiring t2 guarded > applied"},
		{"back, retired", in("silo").to("baked").works().to("silo").works().asks(due), "prepare-delete up t1 -t2, retiring t2 guarded > applied"},
		{"back, died", in("silo").to("baked").works().to("silo").dies(up), "up t1 +t2, building t1 stood guarded > applied, baking t2 guarded"},
		{"back, given up", in("silo").to("baked").works().to("silo").givesUp().asks(reprovision), "refresh up t1 +t2, building t1 stood guarded > applied, baking t2 guarded"},
		{"back, given up, and staying", in("silo").to("baked").works().to("silo").givesUp().to("baked"), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"back, called off", in("silo").to("baked").works().to("silo").dies("begin").to("baked"), "t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"back, called off after a death", in("silo").to("baked").works().to("silo").dies(up).to("baked"), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"back, third tier", in("silo").to("baked").works().to("silo").dies("begin").to("free"), "prepare-delete up t2 -t1, retiring t1 stood guarded > more"},
		{"back, third tier after a death", in("silo").to("baked").works().to("silo").dies(up).to("free"), "up t2 +t1, baking t1 guarded > more, baking t1 guarded"},
		{"back, and no longer protected", in("silo").to("baked").works().unguarded("silo").to("silo").dies(up).to("baked"), "up t2 +t1, baking t1 guarded > applied, baking t1 guarded"},
		{"as before a refused update", in("standard").asks(tenant.EventSuspended).givesUp().to("gold").works().asks(tenant.EventResumed).to("standard"), "up t1 > applied"},
		{"third tier while baking", in("silo").to("baked").works().to("free"), "prepare-delete up t2 -t1, retiring t1 guarded > more"},
		{"third tier while baking, after a death", in("silo").to("baked").works().asks(tenant.EventSuspended).dies(up).to("free"), "up t2 +t1, baking t1 guarded > more, baking t1 guarded"},
		{"third tier once that is done", in("silo").to("baked").works().to("free").works(), "up t3 +t2, building t3 > applied, baking t2 guarded"},
		{"third tier while retiring", in("silo").to("baked").works().asks(retire).fails(prepare).to("free"), "prepare-delete up t2 -t1, retiring t1 guarded > more"},
		{"back to what protection had not reached", in("free").to("hooked").works().confirms().works().to("free").works().to("hooked"), "up t2 +t1, building t2 stood guarded > ask"},

		{"deleted while built", in("silo").to("free").dies(up).deleted(), "prepare-delete destroy remove t1, building t2 > applied"},
		{"deleted while waiting", in("silo").to("hooked").works().deleted(), "prepare-delete destroy remove t1, cutover t2 > applied"},
		{"deleted while baking", in("silo").to("baked").works().deleted(), "prepare-delete destroy remove t2 +t1, baking t1 guarded > applied"},
		{"deleted while baking, unguarded", in("free").to("standard").works().deleted(), "destroy remove t2, baking t1 > applied"},
		{"deleted while going back", in("silo").to("baked").works().to("silo").dies(up).deleted(), "prepare-delete destroy remove t2 +t1, building t1 stood guarded > applied"},
		{"deleted while retiring, prepared not", in("silo").to("baked").works().asks(retire).dies(prepare).deleted(), "prepare-delete destroy remove t2 +t1, retiring t1 guarded > applied"},
		{"deleted while retiring, prepared", in("silo").to("baked").works().asks(retire).dies(up).deleted(), "prepare-delete destroy remove t2, retiring t1 > applied"},
		{"deletion died after that", in("silo").to("baked").works().asks(retire).dies(up).deleted().dies(prepare), "prepare-delete destroy remove t2, retiring t1 > applied"},
		{"deletion died in the destroy", in("silo").to("baked").works().deleted().dies(destroy), "destroy remove t2 +t1, baking t1 guarded > applied"},
		{"deletion failed in the remove", in("silo").to("baked").works().deleted().fails(remove), "destroy remove t2 +t1, baking t1 guarded > applied"},
		{"deleted in the middle, and gone", in("silo").to("baked").works().deleted().works(), "t2 > applied"},
		{"created again after that", in("silo").to("baked").dies(up).deleted().works().hears(tenant.Event{
			Type: tenant.EventCreated, Tier: "free", Region: "eu-central-1",
		}), "up t3 > applied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.story.rec, c.story.catalog, c.story.now)
			require.NoError(t, err)
			require.Equal(t, c.want, summary(p))
		})
	}
}
