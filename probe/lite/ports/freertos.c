/* FreeRTOS, any version with static allocation. A board brings what freertos.h declares. */
#include "FreeRTOS.h"
#include "task.h"

#include "freertos.h"
#include "rtlite.h"

enum {
	WORKERS = 2 * RTL_LANES, /* the lanes, and a load beside each */
	SLEEPERS = WORKERS + 1,  /* and the thread of rtl_main */
	STACK_WORDS = 512,
	BELOW = tskIDLE_PRIORITY + 1, /* not the idle task's own: it would take turns with it, from tick to tick */
	MAIN = BELOW + 1
};

static struct worker {
	TaskHandle_t task;
	StaticTask_t memory;
	StackType_t stack[STACK_WORDS];
	void (*run)(void *);
	void *argument;
	volatile int returned;
} workers[WORKERS];
static int n_started;

/* Who sleeps, until when. Guarded by the interrupt mask. */
static struct sleeper {
	TaskHandle_t task; /* NULL: nobody */
	int64_t due_ns;
} sleepers[SLEEPERS];

static void critical(int on)
{
	if (on)
		taskENTER_CRITICAL();
	else
		taskEXIT_CRITICAL();
}

const struct rtl_port rtl_port = {
	.os = "freertos/" tskKERNEL_VERSION_NUMBER,
	.board = BOARD_NAME,
	.clock = BOARD_CLOCK,
	.policy = "fixed-priority",
	.sleep = "timer",
	.clock_hz = BOARD_CLOCK_HZ,
	.tick_hz = configTICK_RATE_HZ,
	.critical = critical,
	.storm = board_storm,
	.typed = board_typed,
};

int64_t rtl_now_ns(void)
{
	const UBaseType_t mask = taskENTER_CRITICAL_FROM_ISR();
	const int64_t now_ns = board_now_ns();

	taskEXIT_CRITICAL_FROM_ISR(mask);
	return now_ns;
}

/* With the interrupt mask set: the timer rings at the first due time. */
static void arm(void)
{
	int64_t first_ns = INT64_MAX;

	for (int i = 0; i < SLEEPERS; i++)
		if (sleepers[i].task && sleepers[i].due_ns < first_ns)
			first_ns = sleepers[i].due_ns;
	if (first_ns != INT64_MAX)
		board_ring_in(first_ns - board_now_ns());
}

void freertos_timer_rang(void)
{
	const UBaseType_t mask = taskENTER_CRITICAL_FROM_ISR();
	const int64_t now_ns = board_now_ns();
	BaseType_t woken = pdFALSE;

	for (int i = 0; i < SLEEPERS; i++) {
		if (sleepers[i].task && sleepers[i].due_ns <= now_ns) {
			vTaskNotifyGiveFromISR(sleepers[i].task, &woken);
			sleepers[i].task = NULL;
		}
	}
	arm();
	taskEXIT_CRITICAL_FROM_ISR(mask);
	portYIELD_FROM_ISR(woken);
}

int rtl_sleep_until_ns(int64_t due_ns)
{
	int mine = 0;

	taskENTER_CRITICAL();
	if (board_now_ns() >= due_ns) {
		taskEXIT_CRITICAL();
		return 0;
	}
	while (mine < SLEEPERS && sleepers[mine].task)
		mine++;
	if (mine < SLEEPERS) {
		sleepers[mine] = (struct sleeper){ xTaskGetCurrentTaskHandle(), due_ns };
		arm();
	}
	taskEXIT_CRITICAL();
	return mine == SLEEPERS || !ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
}

static void work(void *argument)
{
	struct worker *me = argument;

	for (;;) {
		ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
		me->run(me->argument);
		me->returned = 1;
	}
}

int rtl_thread(void (*run)(void *), void *argument, int priority, int cpu, int *own)
{
	const UBaseType_t most = configMAX_PRIORITIES - 1, least = MAIN + 1;
	const UBaseType_t mine = priority ? least + (UBaseType_t)priority * (most - least) / 99 : BELOW;
	struct worker *w = &workers[n_started];

	(void)cpu;
	*own = 1;
	if (n_started == WORKERS)
		return -1;
	w->run = run;
	w->argument = argument;
	w->returned = 0;
	if (!w->task)
		w->task = xTaskCreateStatic(work, "rtlite", STACK_WORDS, w, mine, w->stack, &w->memory);
	else
		vTaskPrioritySet(w->task, mine);
	n_started++;
	xTaskNotifyGive(w->task);
	return (int)uxTaskPriorityGet(w->task);
}

int rtl_join(uint32_t ms)
{
	const TickType_t until = xTaskGetTickCount() + pdMS_TO_TICKS(ms);

	for (;;) {
		int all = 1;

		for (int i = 0; i < n_started; i++)
			all = all && workers[i].returned;
		if (all)
			n_started = 0;
		if (all || (BaseType_t)(xTaskGetTickCount() - until) >= 0)
			return all;
		vTaskDelay(pdMS_TO_TICKS(5));
	}
}

static void main_task(void *argument)
{
	(void)argument;
	rtl_main();
	for (;;)
		vTaskDelay(portMAX_DELAY);
}

void freertos_begin(void)
{
	static StaticTask_t memory;
	static StackType_t stack[STACK_WORDS];

	xTaskCreateStatic(main_task, "rtl-main", STACK_WORDS, NULL, MAIN, stack, &memory);
	vTaskStartScheduler();
}

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *words)
{
	static StaticTask_t idle;
	static StackType_t idle_stack[configMINIMAL_STACK_SIZE];

	*task = &idle;
	*stack = idle_stack;
	*words = configMINIMAL_STACK_SIZE;
}
