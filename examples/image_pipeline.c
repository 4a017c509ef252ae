// SPDX-License-Identifier: Apache-2.0
/*
 * A small image pipeline, as an application would write it: one thread makes pictures, workers blur
 * them, ask a tiny model what they show, and collect the answers. Everything is real work on real
 * pixels; the zones and ML events are what Inferogram shows of it.
 *
 *     inferogram record -- ./image_pipeline [IMAGES] [WORKERS]
 *     inferogram info inferogram-image_pipeline-*.ifg
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inferogram/inferogram.h>

#define SIDE       96
#define CLASSES    4
#define FEATURES   64
#define QUEUE_SIZE 16

struct image {
    unsigned number;
    unsigned kind; /* what was drawn, to check the model against */
    uint64_t request;
    float pixels[SIDE * SIDE];
};

/* A bounded queue between the source and the workers. */
struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct image *items[QUEUE_SIZE];
    unsigned count;
    int closed;
};

struct classifier {
    ifg_model *model;
    float weights[CLASSES][FEATURES];
};

static struct queue queue = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, { 0 }, 0, 0 };
static struct classifier classifier;
static unsigned right_answers;
static unsigned answers;

static void queue_put(struct image *image)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.count == QUEUE_SIZE)
        pthread_cond_wait(&queue.changed, &queue.lock);
    queue.items[queue.count++] = image;
    IFG_COUNTER("queue", queue.count);
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
}

static struct image *queue_take(void)
{
    struct image *image = NULL;

    pthread_mutex_lock(&queue.lock);
    while (!queue.count && !queue.closed)
        pthread_cond_wait(&queue.changed, &queue.lock);
    if (queue.count) {
        image = queue.items[0];
        memmove(queue.items, queue.items + 1, --queue.count * sizeof queue.items[0]);
        IFG_COUNTER("queue", queue.count);
    }
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    return image;
}

/* Stripes of one of four directions, with noise. */
static void draw(struct image *image)
{
    unsigned seed = image->number * 2654435761u + 1;

    IFG_ZONE("draw");
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            static const float dx[CLASSES] = { 1, 0, 0.7f, 0.7f };
            static const float dy[CLASSES] = { 0, 1, 0.7f, -0.7f };
            float along = dx[image->kind] * (float)x + dy[image->kind] * (float)y;

            seed = seed * 1664525u + 1013904223u;
            image->pixels[y * SIDE + x] = sinf(along * 0.5f) + (float)(seed >> 8) * 1e-8f;
        }
    }
    IFG_FLOW_BEGIN("image", image->request); /* to the worker that will take it */
}

static void blur(float *pixels)
{
    static _Thread_local float copy[SIDE * SIDE];

    IFG_ZONE("blur");
    memcpy(copy, pixels, sizeof copy);
    for (int y = 1; y < SIDE - 1; y++) {
        for (int x = 1; x < SIDE - 1; x++) {
            const float *at = copy + y * SIDE + x;

            pixels[y * SIDE + x] = (4 * at[0] + 2 * (at[-1] + at[1] + at[-SIDE] + at[SIDE]) +
                                    at[-SIDE - 1] + at[-SIDE + 1] + at[SIDE - 1] + at[SIDE + 1]) /
                                   16;
        }
    }
}

/* How strong the edges of each direction are, in sixteen tiles. */
static void find_features(const float *pixels, float *features)
{
    IFG_ZONE_AS(zone, "features");
    memset(features, 0, FEATURES * sizeof *features);
    for (int y = 1; y < SIDE - 1; y++) {
        for (int x = 1; x < SIDE - 1; x++) {
            const float *at = pixels + y * SIDE + x;
            int tile = y * 4 / SIDE * 4 + x * 4 / SIDE;
            float across = at[1] - at[-1];
            float down = at[SIDE] - at[-SIDE];

            features[tile * 4 + 0] += across * across;
            features[tile * 4 + 1] += down * down;
            features[tile * 4 + 2] += across * down > 0 ? across * down : 0;
            features[tile * 4 + 3] += across * down < 0 ? -across * down : 0;
        }
    }
    IFG_VALUE(zone, FEATURES);
}

static unsigned classify(const float *features)
{
    unsigned best = 0;
    float score[CLASSES];

    IFG_EVENT_BEGIN(event, classifier.model, "main", IFG_INFERENCE);
    for (unsigned c = 0; c < CLASSES; c++) {
        score[c] = 0;
        for (unsigned i = 0; i < FEATURES; i++)
            score[c] += classifier.weights[c][i] * features[i];
        if (score[c] > score[best])
            best = c;
    }
    IFG_DETAIL_INT(event, "class", best);
    IFG_EVENT_END(event);
    return best;
}

static void process(struct image *image)
{
    float features[FEATURES];
    unsigned answer;

    IFG_ZONE_AS(zone, "image");
    IFG_VALUE(zone, image->number);
    IFG_FLOW_END("image", image->request);
    {
        IFG_STAGE(image->request, "pre");
        blur(image->pixels);
        blur(image->pixels);
    }
    {
        IFG_STAGE(image->request, "inference");
        {
            IFG_EVENT(classifier.model, "main", IFG_SETUP);
            find_features(image->pixels, features);
        }
        answer = classify(features);
    }
    {
        IFG_STAGE(image->request, "post");
        pthread_mutex_lock(&queue.lock);
        answers++;
        right_answers += answer == image->kind;
        pthread_mutex_unlock(&queue.lock);
        if (answer != image->kind)
            IFG_MESSAGE_LEVEL(IFG_LEVEL_WARNING, "wrong answer");
    }
}

static void *worker(void *argument)
{
    struct image *image;
    char name[16];

    snprintf(name, sizeof name, "worker %d", *(int *)argument);
    IFG_THREAD_NAME(name);
    while ((image = queue_take())) {
        process(image);
        IFG_ASYNC_END("request", image->request);
        IFG_FREE("images", image);
        free(image);
    }
    return NULL;
}

/* The "model": each class answers to the edges that its stripes have. */
static void load_model(void)
{
    classifier.model = ifg_model_create(&(ifg_model_options){
        .struct_size = sizeof(ifg_model_options),
        .name = "stripes",
        .content_id = "builtin-1",
        .runtime = "image_pipeline",
        .requested_devices = "CPU",
        .actual_devices = "CPU",
    });
    IFG_EVENT_BEGIN(event, classifier.model, "main", IFG_LOAD);
    IFG_EVENT_LOAD_STATE(event, IFG_LOAD_COLD);
    {
        IFG_EVENT(classifier.model, "main", IFG_SPECIALIZATION);
        for (unsigned c = 0; c < CLASSES; c++)
            for (unsigned i = 0; i < FEATURES; i++)
                classifier.weights[c][i] = i % 4 == c ? 1.0f : c < 2 && i % 4 < 2 ? -0.2f : -0.5f;
        /* Diagonal stripes have edges both across and down. */
        for (unsigned i = 0; i < FEATURES; i++)
            if (i % 4 < 2)
                classifier.weights[2][i] = classifier.weights[3][i] = 0.05f;
    }
    IFG_EVENT_END(event);
}

int main(int argc, char **argv)
{
    unsigned images = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 400;
    int workers = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
    pthread_t threads[16];
    int numbers[16];

    if (workers < 1 || workers > 16) {
        fprintf(stderr, "usage: %s [IMAGES] [WORKERS, 1 to 16]\n", argv[0]);
        return 2;
    }
    IFG_THREAD_NAME("source");
    load_model();
    for (int i = 0; i < workers; i++) {
        numbers[i] = i + 1;
        pthread_create(&threads[i], NULL, worker, &numbers[i]);
    }
    for (unsigned i = 0; i < images; i++) {
        struct image *image = malloc(sizeof *image);

        if (!image)
            break;
        IFG_ALLOC("images", image, sizeof *image);
        image->number = i;
        image->kind = (i * 7 + i / 3) % CLASSES;
        image->request = ifg_request_new();
        IFG_ASYNC_BEGIN("request", image->request);
        draw(image);
        queue_put(image);
        IFG_FRAME("source");
    }
    pthread_mutex_lock(&queue.lock);
    queue.closed = 1;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], NULL);
    printf("%u of %u images recognised\n", right_answers, answers);
    ifg_model_destroy(classifier.model);
    return right_answers * 10 >= answers * 9 ? 0 : 1;
}
