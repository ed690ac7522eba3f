// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * Faults of known kind, time and length, to prove what finds their causes.
 *
 *   echo "KIND LENGTH_US COUNT FIRST_NS PERIOD_NS" > /proc/rtfault     FIRST_NS on CLOCK_MONOTONIC
 *   cat /proc/rtfault                                                 one line a fault: KIND LENGTH_US START_NS END_NS
 *
 * The faults run on CPU 0, begun by a thread "rtfault_KIND". Only one plan runs at a time; the write returns at once.
 * The module lives in the lab only. The kernel gives some of these symbols to modules that say "GPL" only.
 */
#include <linux/console.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <uapi/linux/sched/types.h>

#define CPU 0
#define LOGGED 4096
#define FLOOD 64
#define SMI_PORT 0xb2
#define THROTTLED_NS 80000 /* a preemption by a lane is shorter, in virtual time too */

struct plan { char kind; unsigned long length_us; unsigned int count; u64 first_ns, period_ns; };
struct fault { char kind; unsigned long length_us; u64 start_ns, end_ns; };

static struct plan plan;
static struct fault faults[LOGGED];
static atomic_t n_faults;
static struct tasklet_struct tasklet, flood[FLOOD];
static struct hrtimer timer;
static atomic_t busy;

static u64 now_ns(void) { return ktime_get_mono_fast_ns(); }

static void logged(u64 start_ns, u64 end_ns)
{
	int i = atomic_inc_return(&n_faults) - 1;

	if (i < LOGGED)
		faults[i] = (struct fault){ plan.kind, plan.length_us, start_ns, end_ns };
}

static noinline void spin(unsigned long length_us)
{
	u64 start = now_ns(), now = start;

	while (now < start + length_us * NSEC_PER_USEC) {
		cpu_relax();
		now = now_ns();
	}
	logged(start, now);
}

static noinline void rtfault_interrupts_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	spin(plan.length_us);
	local_irq_restore(flags);
}

static noinline void rtfault_preemption_off(void)
{
	preempt_disable();
	spin(plan.length_us);
	preempt_enable();
}

static noinline void rtfault_bottom_halves_off(void)
{
	local_bh_disable();
	spin(plan.length_us);
	local_bh_enable();
}

static void rtfault_tasklet(struct tasklet_struct *t) { spin(plan.length_us); }

/* Many short softirqs one after the other; the first and the last say when the flood was. */
static u64 flood_start_ns;
static void rtfault_flood(struct tasklet_struct *t)
{
	u64 start = now_ns(), now = start;

	if (t == &flood[0])
		flood_start_ns = start;
	while (now < start + plan.length_us * NSEC_PER_USEC / FLOOD)
		now = now_ns();
	if (t == &flood[FLOOD - 1])
		logged(flood_start_ns, now);
}

static void start_flood(void)
{
	int i;

	local_bh_disable();
	for (i = 0; i < FLOOD; i++)
		tasklet_hi_schedule(&flood[i]);
	local_bh_enable();
}

static enum hrtimer_restart rtfault_hrtimer(struct hrtimer *t)
{
	spin(plan.length_us);
	return HRTIMER_NORESTART;
}

static void rtfault_fifo(int priority)
{
	struct sched_attr attr = { .size = sizeof(attr), .sched_policy = SCHED_FIFO, .sched_priority = priority };

	sched_setattr_nocheck(current, &attr);
}

/* A thread below the lane that never sleeps: the scheduler takes the CPU from all real-time threads for the rest of the period. */
static noinline void rtfault_hog(void)
{
	u64 start = now_ns(), before = start, now = start;

	while (now < start + plan.length_us * NSEC_PER_USEC) {
		cond_resched();
		now = now_ns();
		if (now - before > THROTTLED_NS)
			logged(before, now);
		before = now;
	}
}

static void rtfault_console_write(struct console *c, const char *text, unsigned int n)
{
	u64 end = now_ns() + plan.length_us * NSEC_PER_USEC;

	while (strnstr(text, "rtfault", n) && now_ns() < end)
		cpu_relax();
}
static struct console slow_console = { .name = "rtfault", .write = rtfault_console_write, .flags = CON_ENABLED, .index = -1 };

static noinline void rtfault_smi(void)
{
	u64 start = now_ns();

	outb(0, SMI_PORT);
	logged(start, now_ns());
}

/* All of the call is the fault: the board's own console is written to as well. */
static noinline void rtfault_printk(void)
{
	u64 start = now_ns();

	pr_emerg("rtfault\n");
	logged(start, now_ns());
}

static void rtfault_ipi(void *unused) { spin(plan.length_us); }

static void one(void)
{
	switch (plan.kind) {
	case 'i': rtfault_interrupts_off(); break;
	case 'p': rtfault_preemption_off(); break;
	case 'b': rtfault_bottom_halves_off(); break;
	case 't': tasklet_schedule(&tasklet); break;
	case 'l': start_flood(); break;
	case 'f': spin(plan.length_us); break;
	case 's': spin(plan.length_us); break;
	case 'r': rtfault_hog(); break;
	case 'k': rtfault_printk(); break;
	case 'm': rtfault_smi(); break;
	case 'x': smp_call_function_single(CPU, rtfault_ipi, NULL, 1); break;
	}
}

static int work(void *unused)
{
	unsigned int i;

	if (plan.kind == 'f')
		rtfault_fifo(99);
	if (plan.kind == 'r')
		rtfault_fifo(50);
	for (i = 0; i < plan.count; i++) {
		ktime_t at = ns_to_ktime(plan.first_ns + i * plan.period_ns);

		if (plan.kind == 'h') {
			hrtimer_start(&timer, at, HRTIMER_MODE_ABS_PINNED_HARD);
			at = ktime_add_us(at, plan.length_us + 1000);
		}
		set_current_state(TASK_UNINTERRUPTIBLE);
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
		if (plan.kind != 'h')
			one();
	}
	atomic_set(&busy, 0);
	return 0;
}

static ssize_t written(struct file *f, const char __user *from, size_t n, loff_t *offset)
{
	char text[96] = { 0 };
	struct plan new;
	struct task_struct *t;

	if (n >= sizeof(text) || copy_from_user(text, from, n))
		return -EINVAL;
	if (sscanf(text, "%c %lu %u %llu %llu", &new.kind, &new.length_us, &new.count, &new.first_ns, &new.period_ns) != 5)
		return -EINVAL;
	if (!strchr("ipbtlhfsrkmx", new.kind) || new.length_us > 2000000)
		return -EINVAL;
	if (atomic_cmpxchg(&busy, 0, 1))
		return -EBUSY;
	plan = new;
	t = kthread_create(work, NULL, "rtfault_%c", plan.kind);
	if (IS_ERR(t)) {
		atomic_set(&busy, 0);
		return PTR_ERR(t);
	}
	kthread_bind(t, plan.kind == 'x' ? CPU + 1 : CPU);
	wake_up_process(t);
	return n;
}

static int shown(struct seq_file *m, void *unused)
{
	int i, n = min(atomic_read(&n_faults), LOGGED);

	for (i = 0; i < n; i++)
		seq_printf(m, "%c %lu %llu %llu\n", faults[i].kind, faults[i].length_us, faults[i].start_ns, faults[i].end_ns);
	return 0;
}

static int opened(struct inode *inode, struct file *f) { return single_open(f, shown, NULL); }
static const struct proc_ops ops = {
	.proc_open = opened, .proc_read = seq_read, .proc_lseek = seq_lseek, .proc_release = single_release, .proc_write = written,
};

static int __init rtfault_begin(void)
{
	int i;

	tasklet_setup(&tasklet, rtfault_tasklet);
	for (i = 0; i < FLOOD; i++)
		tasklet_setup(&flood[i], rtfault_flood);
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
	timer.function = rtfault_hrtimer;
	register_console(&slow_console);
	return proc_create("rtfault", 0600, NULL, &ops) ? 0 : -ENOMEM;
}
module_init(rtfault_begin);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Faults of known kind, time and length");
