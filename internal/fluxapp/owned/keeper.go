// Copyright The Wavefront Controller Authors.
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"context"
	"fmt"
	"maps"

	"github.com/fluxcd/pkg/ssa"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Keeper keeps objects for their owners. It may be used by several goroutines,
// but by one at a time for one owner.
type Keeper struct {
	client  client.Client
	live    client.Reader
	manager *ssa.ResourceManager
	owner   ssa.Owner
	ledger  *ledger
}

// NewKeeper returns a Keeper that writes through c and reads what it is about
// to write through live, which must not be a cache. owner.Field is the field
// manager of everything it applies; owner.Group is the prefix of the two labels
// that name the owner of an object.
func NewKeeper(c client.Client, live client.Reader, owner ssa.Owner) *Keeper {
	return &Keeper{
		client:  c,
		live:    live,
		manager: ssa.NewResourceManager(c, nil, owner),
		owner:   owner,
		ledger:  newLedger(),
	}
}

// Outcome is what Apply did and found.
type Outcome struct {
	// Changed are the objects that were created or brought back into line.
	Changed []Ref
	// Current tells that nothing had to change and that the observed objects
	// are no older than the live ones, so that what they say may be believed.
	Current bool
}

// ConflictError says that an object of the wanted name belongs to somebody
// else, and has been left alone.
type ConflictError struct {
	Ref   Ref
	Owner string
}

func (e *ConflictError) Error() string {
	if e.Owner != "" {
		return fmt.Sprintf("%s exists already and is controlled by %s", e.Ref.Subject(), e.Owner)
	}
	return fmt.Sprintf("%s exists already and was not created for this object", e.Ref.Subject())
}

// Apply brings the desired objects about, in their order. observed are the
// objects as a cache has them (absent ones left out, others allowed): if they
// are what they were when all was last in order, the API server is not asked at
// all.
//
// Fields that others own stay, except those set by kubectl, which are taken
// back as kustomize-controller does. An object that belongs to somebody else
// is a *ConflictError, and then none is written.
func (k *Keeper) Apply(ctx context.Context, owner client.Object, desired, observed []client.Object) (Outcome, error) {
	wanted, err := k.prepare(owner, desired)
	if err != nil {
		return Outcome{}, err
	}
	seen, err := k.looks(wanted, observed)
	if err != nil {
		return Outcome{}, err
	}
	key := client.ObjectKeyFromObject(owner)
	if k.ledger.settled(key, seen) {
		return Outcome{Current: true}, nil
	}
	k.ledger.forget(key)
	s := &session{Client: k.client, live: map[Ref]*unstructured.Unstructured{}}
	if err := k.read(ctx, owner, wanted, s); err != nil {
		return Outcome{}, err
	}
	outcome, err := k.write(ctx, wanted, s)
	if err != nil {
		return outcome, err
	}
	now, err := fingerprint(wanted, s.live)
	if err != nil {
		return outcome, err
	}
	k.ledger.settle(key, now)
	outcome.Current = now == seen
	return outcome, nil
}

// Forget drops what is remembered of an owner that is gone.
func (k *Keeper) Forget(owner client.ObjectKey) {
	k.ledger.forget(owner)
}

// Belongs tells whether an object is the owner's: controlled by it, or by one
// of its kind and name that existed before, or else labelled as its own. The
// labels are how somebody hands an object over. Nothing in another namespace is the
// owner's, whatever its inventory says: there an owner of the same name has its own.
func (k *Keeper) Belongs(owner, obj client.Object) bool {
	if obj.GetNamespace() != owner.GetNamespace() {
		return false
	}
	if controller := metav1.GetControllerOf(obj); controller != nil {
		return controller.UID == owner.GetUID() || k.sameOwner(controller, owner)
	}
	labels := obj.GetLabels()
	for key, value := range k.manager.GetOwnerLabels(owner.GetName(), owner.GetNamespace()) {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Conflict returns a *ConflictError if the object is not the owner's.
func (k *Keeper) Conflict(owner, obj client.Object) error {
	if k.Belongs(owner, obj) {
		return nil
	}
	gvk, err := apiutil.GVKForObject(obj, k.client.Scheme())
	if err != nil {
		return fmt.Errorf("failed to determine kind of %q: %w", client.ObjectKeyFromObject(obj), err)
	}
	conflict := &ConflictError{Ref: NewRef(gvk, client.ObjectKeyFromObject(obj))}
	if controller := metav1.GetControllerOf(obj); controller != nil {
		conflict.Owner = controller.Kind + " " + controller.Name
	}
	return conflict
}

func (k *Keeper) sameOwner(controller *metav1.OwnerReference, owner client.Object) bool {
	gvk, err := apiutil.GVKForObject(owner, k.client.Scheme())
	if err != nil {
		return false
	}
	return controller.Kind == gvk.Kind && controller.Name == owner.GetName() &&
		controller.APIVersion == gvk.GroupVersion().String()
}

// prepare turns the objects into what is sent: without status, labelled, and
// controlled by the owner.
func (k *Keeper) prepare(owner client.Object, desired []client.Object) ([]*unstructured.Unstructured, error) {
	wanted := make([]*unstructured.Unstructured, 0, len(desired))
	for _, obj := range desired {
		u, err := toUnstructured(obj, k.client.Scheme())
		if err != nil {
			return nil, err
		}
		if err := controllerutil.SetControllerReference(owner, u, k.client.Scheme()); err != nil {
			return nil, fmt.Errorf("failed to own %s: %w", subject(u), err)
		}
		labels := u.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		maps.Copy(labels, k.manager.GetOwnerLabels(owner.GetName(), owner.GetNamespace()))
		u.SetLabels(labels)
		wanted = append(wanted, u)
	}
	return wanted, nil
}

// read gets the wanted objects as they are now, those that exist.
func (k *Keeper) read(ctx context.Context, owner client.Object, wanted []*unstructured.Unstructured, s *session) error {
	for _, want := range wanted {
		found, err := k.get(ctx, refOf(want))
		if err != nil {
			return err
		}
		if found == nil {
			continue
		}
		if err := k.Conflict(owner, found); err != nil {
			return err
		}
		s.live[refOf(want)] = found
	}
	return nil
}

func (k *Keeper) write(ctx context.Context, wanted []*unstructured.Unstructured, s *session) (Outcome, error) {
	var outcome Outcome
	for _, want := range wanted {
		changed, err := k.applyOne(ctx, want, s)
		if err != nil {
			return outcome, err
		}
		if changed {
			outcome.Changed = append(outcome.Changed, refOf(want))
		}
	}
	return outcome, nil
}

func (k *Keeper) applyOne(ctx context.Context, want *unstructured.Unstructured, s *session) (bool, error) {
	manager := ssa.NewResourceManager(s, nil, k.owner)
	entry, err := manager.Apply(ctx, want, applyOptions())
	if err != nil {
		return false, fmt.Errorf("failed to apply %s: %w", subject(want), err)
	}
	if entry.Action != ssa.UnchangedAction {
		return true, nil
	}
	if live := s.live[refOf(want)]; live == nil || controlledAs(live, want) {
		return false, nil
	}
	// The resource manager compares everything but owner references.
	if err := s.own(ctx, want.DeepCopy(), k.owner.Field); err != nil {
		return false, fmt.Errorf("failed to own %s: %w", subject(want), err)
	}
	return true, nil
}

// get reads one object live. It is nil if the object, or its kind, is unknown.
func (k *Keeper) get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	found := ref.unstructured()
	err := k.live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, found)
	switch {
	case err == nil:
		return found, nil
	case client.IgnoreNotFound(err) == nil, apimeta.IsNoMatchError(err):
		return nil, nil
	default:
		return nil, fmt.Errorf("failed to get %s: %w", ref.Subject(), err)
	}
}

// applyOptions take back what kubectl set, whatever it was, so that an edit by
// hand does not outlive the next look at the object.
func applyOptions() ssa.ApplyOptions {
	options := ssa.DefaultApplyOptions()
	options.Cleanup.FieldManagers = []ssa.FieldManager{
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationApply},
		{Name: "kubectl", OperationType: metav1.ManagedFieldsOperationUpdate},
		{Name: "before-first-apply", OperationType: metav1.ManagedFieldsOperationUpdate},
	}
	return options
}
