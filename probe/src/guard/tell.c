#include <sys/resource.h>
#include <sys/wait.h>

#include "guard/guard.h"
#include "os/rt.h"
#include "stream/facts.h"

void guard_send_facts(struct guard *g)
{
	struct json j;

	facts_begin(&j, g->plan);
	json_array(&j, "command_argv");
	for (int i = 0; i < g->plan->n_rest; i++)
		json_string(&j, NULL, g->plan->rest[i]);
	json_end_array(&j);
	if (plan_set(g->plan, "max"))
		json_int(&j, "max_ns", plan_number(g->plan, "max"));
	else
		json_null(&j, "max_ns");
	if (g->child > 0)
		json_int(&j, "child_pid", g->child);
	else
		json_null(&j, "child_pid");
	json_bool(&j, "attached", g->loop.attached);
	json_string(&j, "cgroup", g->group.path[0] ? g->group.path : NULL);
	json_string(&j, "policy", rt_policy_name(g->policy));
	json_int(&j, "priority", g->priority);
	json_end_object(&j);
	outlet_json(&g->loop.out, FRAME_FACTS, &j);
}

static int64_t timeval_ns(struct timeval t)
{
	return (int64_t)t.tv_sec * 1000000000 + (int64_t)t.tv_usec * 1000;
}

void guard_send_started(struct guard *g)
{
	struct json j;

	event_begin(&j, "child_started");
	json_int(&j, "pid", g->child);
	event_send(&g->loop.out, &j);
}

void guard_send_exited(struct guard *g)
{
	struct json j;

	event_begin_at(&j, "child_exited", g->exited_ns);
	json_int(&j, "pid", g->child);
	if (WIFEXITED(g->end.status)) {
		json_int(&j, "exit_code", WEXITSTATUS(g->end.status));
		json_null(&j, "signal");
	} else {
		json_null(&j, "exit_code");
		json_int(&j, "signal", WTERMSIG(g->end.status));
	}
	json_int(&j, "user_ns", g->end.user_ns);
	json_int(&j, "system_ns", g->end.system_ns);
	event_send(&g->loop.out, &j);
}

void guard_send_killed(struct guard *g)
{
	struct json j;

	event_begin(&j, "child_killed");
	json_string(&j, "why", g->why);
	json_uint(&j, "left", g->family.n_killed > g->in_group ? g->family.n_killed : g->in_group);
	json_uint(&j, "stuck", g->stuck);
	event_send(&g->loop.out, &j);
}

void guard_send_owner_gone(struct guard *g)
{
	struct json j;

	g->owner_told = true;
	event_begin(&j, "owner_gone");
	event_send(&g->loop.out, &j);
}

void guard_send_end(struct guard *g, const char *reason, int exit_code)
{
	struct rusage all;
	struct json j;

	getrusage(RUSAGE_CHILDREN, &all);
	end_begin(&j, reason, exit_code);
	json_int(&j, "user_ns", timeval_ns(all.ru_utime)); /* of all descendants, orphans too */
	json_int(&j, "system_ns", timeval_ns(all.ru_stime));
	json_end_object(&j);
	outlet_json(&g->loop.out, FRAME_END, &j);
}

static void known_or_null(struct json *j, const char *name, int64_t value)
{
	if (value < 0)
		json_null(j, name);
	else
		json_int(j, name, value);
}

void guard_send_usage(struct guard *g, const struct usage *u)
{
	struct json j;

	event_begin_at(&j, "usage", u->mono_ns);
	json_uint(&j, "processes", u->processes);
	json_uint(&j, "threads", u->threads);
	json_uint(&j, "real_time", u->real_time);
	json_int(&j, "cpu_ns", u->cpu_ns);
	if (u->gpu) {
		known_or_null(&j, "gpu_ns", u->gpu_ns);
		known_or_null(&j, "gpu_interrupts", u->gpu_interrupts);
	}
	event_send(&g->loop.out, &j);
}
